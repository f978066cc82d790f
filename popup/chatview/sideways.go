package chatview

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/widget"
)

// sideways scrolls what is wider than the view. Unlike the toolkit's scroller it
// leaves the wheel to the conversation and takes only sideways movement, or the
// wheel with Shift, which arrives as such.
type sideways struct {
	widget.BaseWidget
	v      *View
	scroll *container.Scroll
}

var _ fyne.Scrollable = (*sideways)(nil)

func newSideways(v *View, objects []fyne.CanvasObject, size fyne.Size) *sideways {
	inner := &fyne.Container{Layout: fixedLayout(size), Objects: objects}
	s := &sideways{v: v}
	s.scroll = container.NewHScroll(&shield{content: inner, to: s})
	s.ExtendBaseWidget(s)
	return s
}

// CreateRenderer shows the scroller.
func (s *sideways) CreateRenderer() fyne.WidgetRenderer { return widget.NewSimpleRenderer(s.scroll) }

// Scrolled moves sideways, or the conversation.
func (s *sideways) Scrolled(e *fyne.ScrollEvent) {
	if e.Scrolled.DX != 0 {
		x := s.scroll.Offset.X - e.Scrolled.DX
		most := s.scroll.Content.MinSize().Width - s.scroll.Size().Width
		s.scroll.ScrollToOffset(fyne.NewPos(max(0, min(x, most)), 0))
		return
	}
	s.v.ScrollBy(-e.Scrolled.DY)
}

// fixedLayout leaves objects where they are.
type fixedLayout fyne.Size

func (l fixedLayout) Layout([]fyne.CanvasObject, fyne.Size) {}
func (l fixedLayout) MinSize([]fyne.CanvasObject) fyne.Size { return fyne.Size(l) }

// shield takes the wheel before the inner scroller does.
type shield struct {
	widget.BaseWidget
	content *fyne.Container
	to      *sideways
}

// Scrolled hands the wheel to who decides.
func (s *shield) Scrolled(e *fyne.ScrollEvent) { s.to.Scrolled(e) }

// CreateRenderer shows the content.
func (s *shield) CreateRenderer() fyne.WidgetRenderer {
	s.ExtendBaseWidget(s)
	return widget.NewSimpleRenderer(s.content)
}
