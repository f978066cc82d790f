// Package chatview draws a transcript: a virtual list with a row a block, of
// which only those in view exist as widgets. It selects text over rows, follows
// the end until the user scrolls up, and never causes a network request.
//
// Its cost for one more piece of a streaming answer is that of the open block:
// rows that did not change are not looked at.
package chatview

import (
	"sort"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/widget"

	"perch/popup/transcript"
)

// overscan is the height in units drawn beyond the edges of the view, so that a
// turn of the wheel finds rows ready.
const overscan float32 = 120

// View is the scrolling list of rows. Its methods belong to the window's thread.
type View struct {
	widget.BaseWidget

	actions Actions

	rows    []*transcript.Row
	heights []float32
	exact   []bool
	tops    []float32 // len(rows)+1; tops[i] is where row i begins
	shown   map[int]*rowView
	pool    []*rowView

	scroll  *container.Scroll
	content *content
	follow  bool
	moving  bool // the view itself sets the offset
	width   float32

	sel    selection
	hover  string // the link under the pointer
	onMove func()
}

// New returns an empty view.
func New(a Actions) *View {
	v := &View{actions: a, shown: map[int]*rowView{}, follow: true}
	v.content = newContent(v)
	v.scroll = container.NewVScroll(v.content)
	v.scroll.OnScrolled = func(fyne.Position) { v.scrolled() }
	v.ExtendBaseWidget(v)
	return v
}

// CreateRenderer shows the scroller.
func (v *View) CreateRenderer() fyne.WidgetRenderer {
	return &viewRenderer{v: v, objects: []fyne.CanvasObject{v.scroll}}
}

type viewRenderer struct {
	v       *View
	objects []fyne.CanvasObject
}

func (r *viewRenderer) Layout(s fyne.Size) {
	r.v.scroll.Resize(s)
	r.v.resized(s)
}
func (r *viewRenderer) MinSize() fyne.Size           { return fyne.NewSize(120, 0) }
func (r *viewRenderer) Objects() []fyne.CanvasObject { return r.objects }
func (r *viewRenderer) Destroy()                     {}
func (r *viewRenderer) Refresh()                     { r.v.Restyle() }

// OnMove is called when the end of the conversation came into or went out of
// view.
func (v *View) OnMove(f func()) { v.onMove = f }

// AtEnd reports whether the view follows the end.
func (v *View) AtEnd() bool { return v.follow || v.offsetMax()-v.scroll.Offset.Y < 1 }

// Height is the height of all rows, as far as it is known.
func (v *View) Height() float32 { return v.tops[len(v.rows)] }

// Update takes the rows after a change.
func (v *View) Update(rows []*transcript.Row, c transcript.Change) {
	from := min(c.From, len(rows), len(v.rows))
	old := v.rows[from:]
	next := rows[from:]
	same := 0
	for same < len(old) && same < len(next) && old[same].Same(next[same]) {
		same++ // drawn the same: only the row behind it is another
	}
	for i := from; i < from+same; i++ {
		if r := v.shown[i]; r != nil {
			r.row = rows[i]
		}
	}
	v.rows = append(v.rows[:from], next...)
	from += same
	v.heights, v.exact = v.heights[:min(from, len(v.heights))], v.exact[:min(from, len(v.exact))]
	for i := from; i < len(rows); i++ {
		v.heights = append(v.heights, estimate(rows[i], v.width))
		v.exact = append(v.exact, false)
	}
	for i := range v.shown {
		if i >= len(rows) {
			v.drop(i)
		} else if i >= from {
			v.shown[i].stale = true
		}
	}
	v.sel.clip(len(rows))
	v.settle(from)
}

// Clear empties the view, for another session.
func (v *View) Clear() {
	for i := range v.shown {
		v.drop(i)
	}
	v.rows, v.heights, v.exact = nil, nil, nil
	v.sel = selection{}
	v.follow = true
	v.settle(0)
}

// ToEnd shows the end and follows it from now on.
func (v *View) ToEnd() {
	v.follow = true
	v.settle(len(v.rows))
}

// Restyle draws everything anew, after a change of theme or text size.
func (v *View) Restyle() {
	for i := range v.heights {
		v.exact[i] = false
		v.heights[i] = estimate(v.rows[i], v.width)
	}
	for _, r := range v.shown {
		r.stale = true
	}
	v.settle(0)
}

// ScrollBy moves the view by a distance, as a key does.
func (v *View) ScrollBy(dy float32) {
	v.scroll.ScrollToOffset(fyne.NewPos(0, max(0, min(v.scroll.Offset.Y+dy, v.offsetMax()))))
	v.scrolled()
}

// PageHeight is how far a page key moves.
func (v *View) PageHeight() float32 { return v.scroll.Size().Height * 0.85 }

func (v *View) offsetMax() float32 { return max(0, v.Height()-v.scroll.Size().Height) }

func (v *View) resized(s fyne.Size) {
	if s.Width != v.width {
		v.width = s.Width
		v.Restyle()
		return
	}
	v.settle(len(v.rows))
}

// scrolled is called when the user moved the view: away from the end the
// following stops, at the end it begins again.
func (v *View) scrolled() {
	if v.moving {
		return
	}
	was := v.follow
	v.follow = v.offsetMax()-v.scroll.Offset.Y < 2
	v.settle(len(v.rows))
	if was != v.follow && v.onMove != nil {
		v.onMove()
	}
}

// settle brings tops, offset and widgets in line after the rows from `from` on
// changed. Heights become exact as rows come into view; what changes above the
// first row in view moves the offset along, so that the text under the reader's
// eyes stays where it is.
func (v *View) settle(from int) {
	v.retop(from)
	height := v.scroll.Size().Height
	if v.width <= 0 || height <= 0 {
		return
	}
	offset := v.scroll.Offset.Y
	const passes = 4 // each pass binds what the one before brought into view
	for range passes {
		if v.follow {
			offset = v.offsetMax()
		}
		offset = max(0, min(offset, v.offsetMax()))
		moved := v.bind(&offset, height)
		if !moved {
			break
		}
	}
	v.content.resize(fyne.NewSize(v.width, max(v.Height(), height)))
	v.moving = true
	if v.scroll.Offset.Y != offset {
		v.scroll.Offset.Y = offset
	}
	v.scroll.Content.Move(fyne.NewPos(0, -offset))
	v.scroll.Base.Refresh()
	v.moving = false
	canvas.Refresh(v)
}

// bind makes the widgets of the rows in view and reports whether a height
// proved to be other than thought.
func (v *View) bind(offset *float32, height float32) bool {
	changed := false
	first := sort.Search(len(v.rows), func(i int) bool { return v.tops[i+1] > *offset-overscan })
	last := first
	for i := first; i < len(v.rows) && v.tops[i] < *offset+height+overscan; i++ {
		last = i + 1
		r := v.shown[i]
		if r == nil {
			r = v.take()
			v.shown[i] = r
			r.stale = true
		}
		if r.stale {
			var prev *transcript.Row
			if i > 0 {
				prev = v.rows[i-1]
			}
			h := r.bind(v.rows[i], prev, v.width)
			r.stale = false
			v.selectRow(i, r)
			if h != v.heights[i] {
				if v.tops[i+1] <= *offset && !v.follow { // above the first row in view
					*offset += h - v.heights[i]
				}
				v.heights[i] = h
				v.retop(i)
				changed = true
			}
			v.exact[i] = true
		}
	}
	for i := range v.shown {
		if i < first || i >= last {
			v.drop(i)
		}
	}
	for i := first; i < last; i++ {
		v.shown[i].Move(fyne.NewPos(0, v.tops[i]))
	}
	v.content.show(v.shown, first, last)
	return changed
}

// retop computes where rows begin, from row `from` on.
func (v *View) retop(from int) {
	if len(v.tops) == 0 {
		v.tops = append(v.tops, topGap)
	}
	from = min(from, len(v.rows), len(v.tops)-1)
	v.tops = v.tops[:from+1]
	for i := from; i < len(v.rows); i++ {
		v.tops = append(v.tops, v.tops[i]+v.heights[i])
	}
}

func (v *View) take() *rowView {
	if n := len(v.pool); n > 0 {
		r := v.pool[n-1]
		v.pool = v.pool[:n-1]
		return r
	}
	return newRowView(v)
}

// maxPool bounds the widgets kept for reuse; two screens of single lines.
const maxPool = 64

func (v *View) drop(i int) {
	r := v.shown[i]
	delete(v.shown, i)
	if r != nil && len(v.pool) < maxPool {
		v.pool = append(v.pool, r)
	}
}

// rowAt is the row at a y of the content, -1 above the first.
func (v *View) rowAt(y float32) int {
	return sort.Search(len(v.rows), func(i int) bool { return v.tops[i+1] > y })
}

// Drawn are the rows that exist as widgets, for tests.
func (v *View) Drawn() int { return len(v.shown) }
