package chatview

import (
	"bytes"
	"fmt"
	"image"
	_ "image/gif"  // a picture of a run may have any of the usual formats
	_ "image/jpeg" // likewise
	_ "image/png"  // likewise
	"path/filepath"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/theme"

	"perch/chat"
	"perch/popup/flow"
	"perch/popup/look"
	"perch/popup/transcript"
)

// pictureMost is the greatest height of a picture in the conversation, in units;
// a click shows it whole.
const pictureMost float32 = 220

// pictureSize is the size at which an image is drawn.
func pictureSize(img *chat.Image, width float32) fyne.Size {
	w, h := float32(img.Width), float32(img.Height)
	if w <= 0 || h <= 0 {
		w, h = 320, 180
	}
	s := min(1, width/w, pictureMost/h)
	return fyne.NewSize(w*s, h*s)
}

func (b *builder) picture() float32 {
	img := b.row.Image
	size := pictureSize(img, b.width)
	frame := b.box(look.Sunken, b.left, blockGap, size.Width, size.Height, true, true, look.RadiusSmall)
	frame.StrokeColor, frame.StrokeWidth = look.Color(look.Hairline), 1
	data := img.Data
	if len(data) == 0 && b.r.v.actions.Picture != nil {
		data = b.r.v.actions.Picture(img)
	}
	if len(data) > 0 {
		if pic, _, err := image.Decode(bytes.NewReader(data)); err == nil {
			o := canvas.NewImageFromImage(pic)
			o.FillMode, o.ScaleMode, o.CornerRadius = canvas.ImageFillContain, canvas.ImageScaleSmooth, look.RadiusSmall
			b.add(o, b.left, blockGap, size.Width, size.Height)
		} else {
			b.icon("warn", look.Muted, b.left+size.Width/2-iconSize/2, blockGap+size.Height/2-iconSize/2, iconSize)
		}
	} else {
		b.icon("image", look.Muted, b.left+size.Width/2-iconSize/2, blockGap+size.Height/2-iconSize/2, iconSize)
	}
	if b.r.v.actions.OpenPicture != nil {
		b.r.areas = append(b.r.areas, &area{pos: fyne.NewPos(b.left, blockGap), size: size, do: func() { b.r.v.actions.OpenPicture(img) }})
	}
	return blockGap + size.Height + look.Unit
}

// fold draws the arrow of a foldable line and makes the line act.
func (b *builder) fold(open bool, key string, y, h float32) {
	b.area(b.left-look.Unit, y, b.width+2*look.Unit, h, func() {
		if b.r.v.actions.Toggle != nil {
			b.r.v.actions.Toggle(key)
		}
	})
	name := "right"
	if open {
		name = "down"
	}
	b.icon(name, look.Muted, b.left, y+(h-iconSize*0.75)/2, iconSize*0.75)
}

func (b *builder) thinking() float32 {
	opt := flow.Small()
	opt.NoWrap = true
	h := opt.Line + look.Unit
	b.fold(b.row.Line.Open, b.row.Key, blockGap, h)
	id := "popup.thought"
	if b.row.Open {
		id = "popup.thinking"
	}
	text := b.r.v.actions.text(id, b.row.Line.Words)
	b.put([]flow.Span{{Text: text, Color: look.Muted, Italic: b.row.Open}}, opt, b.left+iconSize+look.Unit, blockGap+look.Unit/2, b.width-iconSize)
	return blockGap + h
}

// toolIcons are the icon and colour of each state.
var toolIcons = map[transcript.ToolState]struct {
	icon  string
	color fyne.ThemeColorName
}{
	transcript.ToolRunning: {"tool", look.Accent}, transcript.ToolAsking: {"warn", look.Accent}, transcript.ToolOK: {"check", look.Accent},
	transcript.ToolFailed: {"cross", look.Alarm}, transcript.ToolRefused: {"cross", look.Muted}, transcript.ToolInterrupted: {"stop", look.Muted},
}

// toolStates are the words of states that the icon alone does not tell.
var toolStates = map[transcript.ToolState]string{
	transcript.ToolRunning: "popup.tool.running", transcript.ToolAsking: "popup.tool.asking", transcript.ToolFailed: "popup.tool.failed",
	transcript.ToolRefused: "popup.tool.refused", transcript.ToolInterrupted: "popup.tool.interrupted",
}

func (b *builder) tool() float32 {
	t := b.row.Tool
	opt := flow.Small()
	opt.NoWrap = true
	h := opt.Line + look.Unit
	y := blockGap
	b.fold(t.Open, b.row.Key, y, h)
	x := b.left + iconSize
	ic := toolIcons[t.State]
	b.icon(ic.icon, ic.color, x, y+(h-iconSize)/2, iconSize)
	x += iconSize + look.Unit
	right := ""
	if id := toolStates[t.State]; id != "" {
		right = b.r.v.actions.text(id)
	}
	if t.State == transcript.ToolRunning && t.Progress != "" {
		right = t.Progress
	}
	if d := duration(t.Duration); d != "" && t.State != transcript.ToolRunning && t.State != transcript.ToolAsking {
		right = strings.TrimSpace(right + "  " + d)
	}
	end := b.left + b.width
	rw := min(flow.Width(right, opt.Size, fyne.TextStyle{}), b.width*0.4)
	name := flow.Width(t.Name, opt.Size, fyne.TextStyle{Bold: true})
	b.put([]flow.Span{{Text: t.Name, Bold: true}}, opt, x, y+look.Unit/2, name+2)
	x += name + 2*look.Unit
	if room := end - rw - 2*look.Unit - x; room > 40 {
		b.put([]flow.Span{{Text: flow.Ellipsis(t.Gist, room, opt.Size, fyne.TextStyle{Monospace: true}), Mono: true, Color: look.Muted}}, opt, x, y+look.Unit/2, room)
	}
	if right != "" {
		color := look.Muted
		if t.State == transcript.ToolFailed {
			color = look.Alarm
		}
		b.put([]flow.Span{{Text: flow.Ellipsis(right, rw+1, opt.Size, fyne.TextStyle{}), Color: color}}, opt, end-rw, y+look.Unit/2, rw+2)
	}
	total := y + h
	if len(t.Sources) > 0 {
		total += b.sources(t.Sources, total)
	}
	return total
}

// sources draws where a search's results come from, as links.
func (b *builder) sources(list []chat.Source, y float32) float32 {
	const most = 8
	var sp []flow.Span
	for i, s := range list {
		if i == most {
			sp = append(sp, flow.Span{Text: fmt.Sprintf("  +%d", len(list)-most), Color: look.Muted})
			break
		}
		if i > 0 {
			sp = append(sp, flow.Span{Text: "  ·  ", Color: look.Muted})
		}
		title := s.Title
		if title == "" {
			title = filepath.Base(s.Path)
		}
		if s.StartLine > 0 {
			title = fmt.Sprintf("%s:%d", title, s.StartLine)
		}
		sp = append(sp, flow.Span{Text: title, Link: s.Path})
	}
	_, h := b.put(sp, flow.Small(), b.left+2*iconSize+look.Unit, y, b.width-2*iconSize-look.Unit)
	return h
}

func duration(d time.Duration) string {
	switch {
	case d <= 0:
		return ""
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%d:%02d min", int(d.Minutes()), int(d.Seconds())%60)
}

// line draws a line about the run.
func (b *builder) line() float32 {
	l := &b.row.Line
	a := &b.r.v.actions
	opt := flow.Small()
	icon, color, text := "bubble", look.Muted, ""
	switch l.Kind {
	case transcript.NoticeLine:
		text = l.Text
		if a.NoticeText != nil {
			text = a.NoticeText(l.ID, l.Args, l.Text)
		}
	case transcript.RetryLine:
		icon = "again"
		if left := l.Wait - time.Since(l.Since); left > 0 && b.isLast() {
			text = a.text("popup.retry.in", l.Attempt, l.Reason, int(left.Seconds()+0.99))
		} else {
			text = a.text("popup.retry", l.Attempt, l.Reason)
		}
	case transcript.CompactionLine:
		icon = "list"
		text = a.text("popup.compacted", thousands(l.Before), thousands(l.After))
		if l.Undone {
			text = a.text("popup.compaction.undone")
		}
	case transcript.InterruptedLine:
		icon, text = "stop", a.text("popup.interrupted")
	case transcript.RefusalLine:
		icon, text = "warn", a.text("popup.refused")
		if l.Text == string(chat.StopContentFilter) {
			text = a.text("popup.filtered")
		}
	case transcript.LimitLine:
		icon, text = "warn", a.text("popup.cut_off")
	case transcript.ErrorLine:
		icon, color = "warn", look.Alarm
		if l.Err != nil {
			text = l.Err.Message
		}
		if a.ErrorText != nil {
			text = a.ErrorText(l.Err)
		}
	}
	y := blockGap
	x := b.left + iconSize + 2*look.Unit
	w := b.width - iconSize - 2*look.Unit
	if l.Kind == transcript.ErrorLine {
		x, w = x+pad, w-2*pad
	}
	undo := a.text("popup.undo")
	if l.Kind == transcript.CompactionLine && l.CanUndo && a.UndoCompaction != nil {
		w -= buttonWidth(undo) + look.Unit
	}
	t := b.r.flow()
	h := t.Set([]flow.Span{{Text: text, Color: color}}, opt, w)
	switch {
	case l.Kind == transcript.ErrorLine:
		b.box(look.Caution, b.left, y, b.width, h+4*look.Unit, true, true, look.Radius)
		y += 2 * look.Unit
		b.icon(icon, color, b.left+pad, y+(opt.Line-iconSize)/2, iconSize)
	case b.row.Key != "" && l.Text != "":
		b.fold(l.Open, b.row.Key, y-look.Unit/2, h+look.Unit)
	default:
		b.icon(icon, color, b.left, y+(opt.Line-iconSize)/2, iconSize)
	}
	t.Move(fyne.NewPos(x, y))
	b.r.objects = append(b.r.objects, t)
	if l.Kind == transcript.CompactionLine && l.CanUndo && a.UndoCompaction != nil {
		b.button("undo", undo, look.Accent, b.left+b.width-buttonWidth(undo), y-look.Unit/2, a.UndoCompaction)
	}
	if l.Kind == transcript.ErrorLine {
		return y + h + 2*look.Unit
	}
	return y + h
}

func (b *builder) isLast() bool {
	rows := b.r.v.rows
	return len(rows) > 0 && (rows[len(rows)-1] == b.row)
}

func thousands(n int) string {
	if n < 10000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%dk", (n+500)/1000)
}

// footer draws what can be done with an answer: copy, regenerate, fork…
func (b *builder) footer() float32 {
	f := b.row.Foot
	a := &b.r.v.actions
	x, y := b.left-look.Unit, look.Unit
	h := flow.Small().Line + look.Unit
	put := func(icon, id string, do func()) {
		word := a.text(id)
		if x+buttonWidth(word) > b.left+b.width {
			word = ""
		}
		x += b.button(icon, word, look.Muted, x, y, do) + look.Unit
	}
	if a.Copy != nil && f.Text != "" {
		put("copy", "popup.copy", func() { a.Copy(f.Text) })
	}
	if a.Insert != nil && f.Newest && f.Text != "" {
		put("insert", "popup.insert", func() { a.Insert(f.Text) })
	}
	if a.Regenerate != nil && f.Newest && f.Question != "" {
		put("again", "popup.regenerate", func() { a.Regenerate(f) })
	}
	if a.Fork != nil && b.row.Message != "" {
		message := b.row.Message
		put("fork", "popup.fork", func() { a.Fork(message) })
	}
	if a.Revert != nil && f.Tools && f.Run != "" {
		put("undo", "popup.revert", func() { a.Revert(f.Run) })
	}
	_, model, ok := strings.Cut(f.Model, "/")
	if !ok {
		model = f.Model
	}
	if f.Usage.Cost > 0 {
		model += fmt.Sprintf(" · $%.3f", f.Usage.Cost)
	}
	if room := b.left + b.width - x - look.Unit; model != "" && room > 60 {
		opt := flow.Small()
		opt.NoWrap, opt.Align = true, flow.AlignRight
		b.put([]flow.Span{{Text: flow.Ellipsis(model, room, opt.Size, fyne.TextStyle{}), Color: look.Muted}}, opt, x+look.Unit, y+look.Unit/2, room)
	}
	return y + h
}

// table draws a table with cells that wrap; one that is still too wide scrolls.
func (b *builder) table() float32 {
	t := b.row.Table
	cols := len(t.Head)
	if cols == 0 {
		return 0
	}
	opt := flow.Body()
	cells := append([][][]transcript.Run{t.Head}, t.Rows...)
	widths := columnWidths(cells, cols, opt, b.width)
	total := float32(0)
	for _, w := range widths {
		total += w
	}
	var host fyne.CanvasObject
	var objects []fyne.CanvasObject
	place := func(o fyne.CanvasObject, x, y, w, h float32) {
		o.Move(fyne.NewPos(x, y))
		o.Resize(fyne.NewSize(w, h))
		objects = append(objects, o)
	}
	y := float32(0)
	const cellPad = 2 * look.Unit
	for r, row := range cells {
		height := opt.Line
		x := float32(0)
		type cell struct {
			t *flow.Text
			x float32
		}
		var made []cell
		for c := range cols {
			var runs []transcript.Run
			if c < len(row) {
				runs = row[c]
			}
			o := opt
			if c < len(t.Align) {
				o.Align = [...]flow.Align{flow.AlignLeft, flow.AlignCentre, flow.AlignRight}[t.Align[c]]
			}
			text := b.r.flow()
			height = max(height, text.Set(spans(runs, r == 0, b.row.Dim), o, widths[c]-2*cellPad))
			made = append(made, cell{text, x + cellPad})
			x += widths[c]
		}
		if r == 0 {
			head := canvas.NewRectangle(look.Color(look.Sunken))
			head.TopLeftCornerRadius, head.TopRightCornerRadius = look.RadiusSmall, look.RadiusSmall
			place(head, 0, 0, total, height+2*look.Unit)
		} else {
			place(canvas.NewRectangle(look.Color(look.Hairline)), 0, y, total, 1)
		}
		for _, c := range made {
			c.t.Move(fyne.NewPos(c.x, y+look.Unit))
			objects = append(objects, c.t)
			if total <= b.width {
				b.r.links = append(b.r.links, placed{c.t, fyne.NewPos(b.left+c.x, blockGap+y+look.Unit)})
			}
		}
		y += height + 2*look.Unit
	}
	frame := canvas.NewRectangle(theme.Color(theme.ColorNameShadow))
	frame.StrokeColor, frame.StrokeWidth, frame.CornerRadius = look.Color(look.Hairline), 1, look.RadiusSmall
	place(frame, 0, 0, total, y)
	if total > b.width {
		host = newSideways(b.r.v, objects, fyne.NewSize(total, y))
		b.add(host, b.left, blockGap, b.width, y)
		return blockGap + y
	}
	for _, o := range objects {
		o.Move(o.Position().AddXY(b.left, blockGap))
		b.r.objects = append(b.r.objects, o)
	}
	return blockGap + y
}

// columnWidths shares out the width: each column gets what it needs, and when
// that is too much the widest give way, down to a width that can be read.
func columnWidths(cells [][][]transcript.Run, cols int, opt flow.Options, width float32) []float32 {
	const least, most, around float32 = 72, 420, 4 * look.Unit
	widths := make([]float32, cols)
	total := float32(0)
	for c := range cols {
		for r, row := range cells {
			if c >= len(row) {
				continue
			}
			w := float32(0)
			for _, run := range row[c] {
				w += flow.Width(run.Text, opt.Size, fyne.TextStyle{Bold: run.Bold || r == 0, Italic: run.Italic, Monospace: run.Code})
				if run.Code {
					w += 6
				}
			}
			widths[c] = max(widths[c], min(w+1, most)+around)
		}
		widths[c] = max(widths[c], 32)
		total += widths[c]
	}
	for total > width {
		widest := 0
		for c := range widths {
			if widths[c] > widths[widest] {
				widest = c
			}
		}
		if widths[widest] <= least {
			break
		}
		cut := min(total-width, widths[widest]-least, 24)
		widths[widest] -= cut
		total -= cut
	}
	return widths
}
