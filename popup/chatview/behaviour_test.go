package chatview

import (
	"fmt"
	"image/color"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/test"

	"perch/chat"
	"perch/control"
	"perch/popup/transcript"
)

// feed streams text into a transcript and a view.
func feed(tr *transcript.Transcript, v *View, seq *int64, text string) {
	*seq++
	c := tr.Apply(chat.Stamp(&chat.TextDelta{Text: text}, "r", *seq))
	v.Update(tr.Rows(), c)
}

func long(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "Paragraph %d with enough words to fill a line and then some more of them.\n\n", i)
	}
	return b.String()
}

func TestViewFollowsTheEndUntilTheUserScrollsUp(t *testing.T) {
	useTheme(t, "light")
	tr := transcript.New()
	v, _ := show(t, tr, 500, 300)
	var seq int64
	moved := 0
	v.OnMove(func() { moved++ })
	feed(tr, v, &seq, long(40))
	if !v.AtEnd() || v.scroll.Offset.Y < 100 {
		t.Fatalf("the view does not follow: offset %v of %v", v.scroll.Offset.Y, v.offsetMax())
	}
	v.scroll.Scrolled(&fyne.ScrollEvent{Scrolled: fyne.Delta{DY: 200}})
	if v.AtEnd() || moved != 1 {
		t.Fatal("scrolling up did not stop the following")
	}
	row, off := v.rowAt(v.scroll.Offset.Y+50), v.scroll.Offset.Y
	for range 30 {
		feed(tr, v, &seq, "More text that comes in while the user reads above. ")
	}
	if v.scroll.Offset.Y != off || v.rowAt(v.scroll.Offset.Y+50) != row {
		t.Errorf("the text under the reader's eyes moved from %v to %v", off, v.scroll.Offset.Y)
	}
	v.scroll.Scrolled(&fyne.ScrollEvent{Scrolled: fyne.Delta{DY: -100000}})
	if !v.AtEnd() {
		t.Error("following did not resume at the end")
	}
	before := v.scroll.Offset.Y
	feed(tr, v, &seq, long(5))
	if v.scroll.Offset.Y <= before {
		t.Error("the view does not follow again")
	}
}

func TestOnlyRowsInViewAreDrawn(t *testing.T) {
	useTheme(t, "light")
	tr := transcript.New()
	v, _ := show(t, tr, 500, 400)
	var seq int64
	feed(tr, v, &seq, long(2000))
	if n := v.Drawn(); n > 40 {
		t.Errorf("%d of %d rows are drawn", n, len(v.rows))
	}
	for range 50 { // reading upwards corrects guessed heights without a jump
		top := v.rowAt(v.scroll.Offset.Y)
		v.scroll.Scrolled(&fyne.ScrollEvent{Scrolled: fyne.Delta{DY: 150}})
		if now := v.rowAt(v.scroll.Offset.Y); now > top || top-now > 12 {
			t.Fatalf("a turn of the wheel went from row %d to %d", top, now)
		}
	}
}

func TestTextIsSelectedOverRows(t *testing.T) {
	useTheme(t, "light")
	tr := transcript.New()
	v, _ := show(t, tr, 500, 600)
	var seq int64
	feed(tr, v, &seq, "Hello **bold** world\n\n- one\n- two\n  - deep\n\n```go\na := 1\nb := 2\n```\n\nend\n\n")
	c := v.content
	first, last := v.shown[0], v.shown[len(v.rows)-1]
	c.MouseDown(&desktop.MouseEvent{Button: desktop.MouseButtonPrimary, PointEvent: fyne.PointEvent{Position: first.Position().Add(first.textPos)}})
	c.Dragged(&fyne.DragEvent{PointEvent: fyne.PointEvent{Position: last.Position().Add(last.textPos).AddXY(400, 5)}})
	want := "Hello bold world\n\n- one\n- two\n  - deep\n\na := 1\nb := 2\n\nend"
	if got := v.SelectedText(); got != want {
		t.Errorf("selected %q, want %q", got, want)
	}
	if !v.SelectNone() || v.SelectedText() != "" {
		t.Error("the selection stays")
	}
	pos := first.Position().Add(first.textPos).AddXY(4, 4)
	for range 2 {
		c.MouseDown(&desktop.MouseEvent{Button: desktop.MouseButtonPrimary, PointEvent: fyne.PointEvent{Position: pos}})
	}
	if got := v.SelectedText(); got != "Hello" {
		t.Errorf("a double click selected %q", got)
	}
}

func TestLinksAreShownOnHoverAndFollowedOnClickOnly(t *testing.T) {
	useTheme(t, "light")
	var hits atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer srv.Close()
	var hovered, opened string
	a := testActions()
	a.Hover = func(s string) {
		if s != "" {
			hovered = s
		}
	}
	a.Open = func(s string) { opened = s }
	v := New(a)
	win := test.NewWindow(v)
	defer win.Close()
	win.Resize(fyne.NewSize(500, 300))
	tr := transcript.New()
	var seq int64
	feed(tr, v, &seq, "![secret]("+srv.URL+"/?q=conversation)\n\n<img src=\""+srv.URL+"\">\n\n")
	win.Canvas().Capture()
	r := v.shown[0]
	pos := r.Position().Add(r.textPos).AddXY(30, 8)
	v.content.MouseMoved(&desktop.MouseEvent{PointEvent: fyne.PointEvent{Position: pos}})
	if want := srv.URL + "/?q=conversation"; hovered != want {
		t.Errorf("hovering shows %q, want %q", hovered, want)
	}
	if opened != "" || hits.Load() != 0 {
		t.Fatalf("something was fetched or opened without a click: %q, %d requests", opened, hits.Load())
	}
	ev := &desktop.MouseEvent{Button: desktop.MouseButtonPrimary, PointEvent: fyne.PointEvent{Position: pos}}
	v.content.MouseDown(ev)
	v.content.MouseUp(ev)
	if opened != hovered {
		t.Errorf("the click opened %q", opened)
	}
	if hits.Load() != 0 {
		t.Errorf("%d requests", hits.Load())
	}
}

func TestCodeIsCopiedWhole(t *testing.T) {
	useTheme(t, "light")
	copied := ""
	a := testActions()
	a.Copy = func(s string) { copied = s }
	v := New(a)
	win := test.NewWindow(v)
	defer win.Close()
	win.Resize(fyne.NewSize(500, 5000))
	tr := transcript.New()
	var seq int64
	code := strings.TrimSuffix(strings.Repeat("line := of(code)\n", 100), "\n")
	feed(tr, v, &seq, "```go\n"+code+"\n```\n")
	v.scroll.ScrollToTop()
	v.scrolled()
	area := v.shown[0].areas[0]
	pos := v.shown[0].Position().Add(area.pos).AddXY(3, 3)
	ev := &desktop.MouseEvent{Button: desktop.MouseButtonPrimary, PointEvent: fyne.PointEvent{Position: pos}}
	v.content.MouseDown(ev)
	v.content.MouseUp(ev)
	if copied != code {
		t.Errorf("copied %d bytes, want %d", len(copied), len(code))
	}
}

func TestChangeOfThemeRedrawsEverything(t *testing.T) {
	useTheme(t, "light")
	tr := transcript.New()
	tr.Reset(control.Snapshot{View: session()})
	v, win := show(t, tr, 500, 500)
	_ = win.Canvas().Capture()
	useTheme(t, "dark")
	v2, win2 := show(t, tr, 500, 500)
	v2.Restyle()
	bright := func(c color.Color) bool { r, g, b, _ := c.RGBA(); return r+g+b > 3*0x8000 }
	img := win2.Canvas().Capture()
	n := 0
	for x := range img.Bounds().Dx() {
		if bright(img.At(x, img.Bounds().Dy()/2)) {
			n++
		}
	}
	if n > img.Bounds().Dx()/2 {
		t.Error("the dark theme is bright")
	}
	_ = v
}

// TestGolden compares the view with pictures that were looked at. Scripts whose
// fonts come from the system are left out of them.
func TestGolden(t *testing.T) {
	for _, variant := range []string{"light", "dark"} {
		useTheme(t, variant)
		tr := transcript.New()
		tr.Reset(control.Snapshot{View: session()})
		tr.Toggle("c1")
		_, win := show(t, tr, 620, 980)
		test.AssertRendersToImage(t, "chat-"+variant+".png", win.Canvas())
	}
}

func BenchmarkPieceInView(b *testing.B) {
	for _, kb := range []int{2, 50, 200} {
		b.Run(fmt.Sprintf("%dkB", kb), func(b *testing.B) {
			useTheme(b, "light")
			tr := transcript.New()
			v, _ := show(b, tr, 640, 600)
			var seq int64
			for n := 0; n < kb<<10; n += len(sample) {
				feed(tr, v, &seq, sample+"\n\n")
			}
			piece := strings.Repeat("Ein Satz aus Worten. ", 16)[:333]
			b.ResetTimer()
			for b.Loop() {
				feed(tr, v, &seq, piece)
				if seq%3 == 0 {
					feed(tr, v, &seq, "\n\n")
				}
			}
		})
	}
}
