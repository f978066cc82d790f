package popup

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/theme"

	"perch/chat"
	"perch/control"
	"perch/popup/flow"
	"perch/popup/look"
)

// answerDelay is the time for which a question takes no answer, so that nobody
// gives one by typing on (SPEC: 500 ms).
const answerDelay = 500 * time.Millisecond

// detailMost is the greatest height of what a question shows, in units; more
// scrolls, nothing is cut.
const detailMost float32 = 190

// approval is the bar that asks for a permission.
type approval struct {
	p      *Popup
	object *fyne.Container
	q      *chat.Permission

	buttons []*button
	opened  *time.Timer
}

func newApproval(p *Popup) *approval {
	return &approval{p: p, object: container.NewStack()}
}

// call is the id of the call that is asked about, "" for none.
func (a *approval) call() string {
	if a.q == nil {
		return ""
	}
	return a.q.ID
}

// set shows a question, or none.
func (a *approval) set(q *chat.Permission) {
	if q == nil {
		a.q = nil
		a.object.Objects = nil
		a.object.Refresh()
		return
	}
	if a.q != nil && a.q.ID == q.ID {
		return
	}
	a.q = q
	p := a.p
	title := newCaption(p.t("popup.ask."+string(kindOf(q)), q.Name), theme.ColorNameForeground)
	title.bold = true
	detail := newCaption(Visible(detailOf(q)), theme.ColorNameForeground)
	detail.mono = true
	width := p.saved.Width - 2*entryGap - 6*2*look.Unit
	h := float32(flow.Lines(detail.text, flow.Options{Size: look.SmallSize(), Line: flow.Small().Line, Anywhere: true}, width)) * flow.Small().Line
	scroll := container.NewVScroll(container.NewPadded(detail))
	scroll.SetMinSize(fyne.NewSize(0, min(h+2*look.Unit+4, detailMost)))
	box := newCard(look.Sunken, 0, scroll)
	no := newButton("", p.t("popup.answer.no"), true, func() { p.answer(control.No, p.ui.text()); p.ui.focus() })
	once := newButton("", p.t("popup.answer.once"), false, func() { p.answer(control.Once, ""); p.ui.focus() })
	a.buttons = []*button{no, once}
	if !onceOnly(q) {
		session := newButton("", p.t("popup.answer.session"), false, func() { p.answer(control.InRun, ""); p.ui.focus() })
		always := newButton("", p.t("popup.answer.always"), false, func() { p.answer(control.Always, ""); p.ui.focus() })
		a.buttons = append(a.buttons, session, always)
	} else if sessionWide(q) {
		session := newButton("", p.t("popup.answer.session"), false, func() { p.answer(control.InRun, ""); p.ui.focus() })
		a.buttons = append(a.buttons, session)
	}
	for _, b := range a.buttons {
		b.off = true
	}
	keys := newCaption(p.t("popup.answer.keys"), look.Muted)
	keys.align = flow.AlignRight
	row := container.New(&wrapLayout{})
	for _, b := range a.buttons {
		row.Add(b)
	}
	a.object.Objects = []fyne.CanvasObject{newCard(look.Caution, 2*look.Unit,
		container.NewVBox(container.NewGridWithColumns(2, title, keys), box, row))}
	a.object.Refresh()
	if a.opened != nil {
		a.opened.Stop()
	}
	a.opened = time.AfterFunc(answerDelay, func() {
		a.p.post(func() {
			if a.q == q {
				for _, b := range a.buttons {
					b.setOff(false)
				}
			}
		})
	})
}

// key answers by the keyboard: Ctrl+1 once, 2 for the session, 3 always, 0 no.
func (a *approval) key(name fyne.KeyName) bool {
	if a.q == nil {
		return false
	}
	verdicts := map[fyne.KeyName]control.Verdict{fyne.Key0: control.No, fyne.Key1: control.Once, fyne.Key2: control.InRun, fyne.Key3: control.Always}
	v, ok := verdicts[name]
	if !ok || v == control.Always && onceOnly(a.q) || v == control.InRun && onceOnly(a.q) && !sessionWide(a.q) {
		return ok
	}
	a.p.answer(v, "")
	return true
}

func kindOf(q *chat.Permission) chat.NeedKind {
	switch q.Need {
	case chat.NeedRead, chat.NeedWrite, chat.NeedExecute, chat.NeedNetwork, chat.NeedDesktop:
		return q.Need
	}
	return chat.NeedOther
}

// onceOnly reports whether a standing permission is not offered: for secret
// places, effects that cannot be known, and what is asked about once a session.
func onceOnly(q *chat.Permission) bool {
	for _, n := range q.Needs {
		if n.Uncertain || n.Secret || n.Once {
			return true
		}
	}
	return false
}

// sessionWide reports whether the widest answer offered is "for this session".
func sessionWide(q *chat.Permission) bool {
	wide := false
	for _, n := range q.Needs {
		if n.Uncertain || n.Secret {
			return false
		}
		wide = wide || n.Once
	}
	return wide
}

// detailOf is all that is asked with one question, whole.
func detailOf(q *chat.Permission) string {
	if len(q.Needs) <= 1 {
		return q.Detail
	}
	parts := []string{}
	if q.Detail != "" {
		parts = append(parts, q.Detail)
	}
	for _, n := range q.Needs {
		d := n.Detail
		if d == "" {
			d = n.Subject
		}
		if d != "" && !strings.Contains(q.Detail, d) {
			parts = append(parts, d)
		}
	}
	return strings.Join(parts, "\n")
}

// Visible makes characters visible that could hide or turn around what a command
// does: control characters, and those that reverse, join or take no room.
func Visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		const pictures = 0x2400 // where Unicode has pictures of the control characters
		switch {
		case r == '\n':
			b.WriteByte('\n')
		case r == '\t':
			b.WriteString("⇥   ")
		case r < 0x20:
			b.WriteRune(pictures + r)
		case r == 0x7f:
			b.WriteRune('␡')
		case r == unicode.ReplacementChar:
			b.WriteString("⟨?⟩")
		case hidden(r):
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hidden reports whether a character has no picture of its own: controls of the
// upper half, format characters, separators, odd spaces, variation selectors and
// fillers.
func hidden(r rune) bool {
	switch {
	case r == ' ':
		return false
	case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r), unicode.Is(unicode.Zs, r):
		return true
	case r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 && r <= 0xe01ef, r == 0x3164, r == 0x115f, r == 0x1160, r == 0xffa0, r == 0x034f:
		return true
	}
	return unicode.Is(unicode.Co, r)
}
