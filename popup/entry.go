package popup

import (
	"time"
	"unicode"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"perch/popup/flow"
	"perch/popup/look"
)

// keys are what the entry asks of the popup; it keeps the focus, so that every
// key of the window arrives here first.
type keys struct {
	send     func(text string)
	escape   func()
	shortcut func(name fyne.KeyName, mod fyne.KeyModifier) bool
	recall   func(back bool) bool
	scroll   func(pages float32)
	complete func(move int, take bool) bool // of slash commands
	copied   func(text string)
	copyOut  func() bool // copies what is selected in the conversation
	paste    func(insert func(string))
	changed  func(string)
	post     func(func()) // runs on the window's thread
}

// imeBurst is the time in which a character beyond ASCII and an Enter count as
// one act: input methods that commit with Enter deliver both within a few
// milliseconds, a person takes 100 and more.
const imeBurst = 45 * time.Millisecond

// entry is the field for questions: it grows, sends on Enter and breaks the line
// on Shift+Enter.
type entry struct {
	widget.Entry
	keys      keys
	shift     bool
	lastIME   time.Time // when a character that no key makes arrived
	sending   *time.Timer
	rows      int
	textWidth float32
}

func newEntry(k keys) *entry {
	e := &entry{keys: k, rows: 1}
	e.MultiLine = true
	e.Wrapping = fyne.TextWrapWord
	e.ExtendBaseWidget(e)
	e.SetMinRowsVisible(1)
	e.OnChanged = func(s string) {
		e.fit()
		k.changed(s)
	}
	return e
}

// Bounds of the entry's growth, in lines.
const entryMost = 8

// fit sets the number of lines that are shown.
func (e *entry) fit() {
	w := e.Size().Width - 4*look.Unit - 4
	if w <= 0 {
		return
	}
	opt := flow.Body()
	n := min(max(flow.Lines(e.Text, opt, w), 1), entryMost)
	if n != e.rows {
		e.rows = n
		e.SetMinRowsVisible(n)
	}
}

// Resize lays out and fits the number of lines to the new width.
func (e *entry) Resize(s fyne.Size) {
	e.Entry.Resize(s)
	if s.Width != e.textWidth {
		e.textWidth = s.Width
		e.fit()
	}
}

// AcceptsTab keeps Tab while it completes; otherwise it moves the focus.
func (e *entry) AcceptsTab() bool { return e.keys.complete(0, false) }

// KeyDown notes Shift.
func (e *entry) KeyDown(k *fyne.KeyEvent) {
	if k.Name == desktop.KeyShiftLeft || k.Name == desktop.KeyShiftRight {
		e.shift = true
	}
	e.Entry.KeyDown(k)
}

// KeyUp notes that Shift is gone.
func (e *entry) KeyUp(k *fyne.KeyEvent) {
	if k.Name == desktop.KeyShiftLeft || k.Name == desktop.KeyShiftRight {
		e.shift = false
	}
	e.Entry.KeyUp(k)
}

// FocusLost forgets keys whose release goes to another window.
func (e *entry) FocusLost() {
	e.shift = false
	e.Entry.FocusLost()
}

// TypedRune types a character. One that came from an input method takes back an
// Enter of the same burst.
func (e *entry) TypedRune(r rune) {
	if r > unicode.MaxLatin1 {
		e.lastIME = time.Now()
		if e.sending != nil && e.sending.Stop() {
			e.sending = nil
		}
	}
	e.Entry.TypedRune(r)
}

// TypedKey is a key without modifiers but Shift.
func (e *entry) TypedKey(k *fyne.KeyEvent) {
	switch k.Name {
	case fyne.KeyEscape:
		e.keys.escape()
	case fyne.KeyReturn, fyne.KeyEnter:
		e.enter()
	case fyne.KeyTab:
		e.keys.complete(0, true)
	case fyne.KeyUp:
		if e.keys.complete(-1, false) && e.keys.complete(-1, true) {
			return
		}
		if e.CursorRow == 0 && e.keys.recall(true) {
			return
		}
		e.Entry.TypedKey(k)
	case fyne.KeyDown:
		if e.keys.complete(1, false) && e.keys.complete(1, true) {
			return
		}
		if e.keys.recall(false) {
			return
		}
		e.Entry.TypedKey(k)
	case fyne.KeyPageUp:
		e.keys.scroll(-1)
	case fyne.KeyPageDown:
		e.keys.scroll(1)
	default:
		e.Entry.TypedKey(k)
	}
}

// enter sends, or breaks the line with Shift. It waits out the burst in which an
// input method may still change the text.
func (e *entry) enter() {
	if e.shift {
		e.insert("\n")
		return
	}
	if time.Since(e.lastIME) < imeBurst {
		return
	}
	if e.keys.complete(0, false) {
		e.keys.complete(0, true)
		return
	}
	if !composing(e.Text) {
		e.keys.send(e.Text)
		return
	}
	if e.sending != nil {
		e.sending.Stop()
	}
	e.sending = time.AfterFunc(imeBurst, func() {
		e.keys.post(func() {
			e.sending = nil
			e.keys.send(e.Text)
		})
	})
}

// composing reports whether the text may come from an input method: only then
// sending waits, so that it is immediate for everybody else.
func composing(text string) bool {
	for _, r := range text {
		if r > unicode.MaxLatin1 && !unicode.Is(unicode.Cyrillic, r) && !unicode.Is(unicode.Greek, r) {
			return true
		}
	}
	return imeActive()
}

// TypedShortcut is a key with modifiers.
func (e *entry) TypedShortcut(s fyne.Shortcut) {
	switch s := s.(type) {
	case *desktop.CustomShortcut:
		if s.KeyName == fyne.KeyReturn && s.Modifier == fyne.KeyModifierControl {
			e.insert("\n")
			return
		}
		if e.keys.shortcut(s.KeyName, s.Modifier) {
			return
		}
	case *fyne.ShortcutCopy:
		if e.SelectedText() == "" && e.keys.copyOut() {
			return
		}
		c := &catchClipboard{}
		e.Entry.TypedShortcut(&fyne.ShortcutCopy{Clipboard: c})
		e.keys.copied(c.text)
		return
	case *fyne.ShortcutCut:
		c := &catchClipboard{}
		e.Entry.TypedShortcut(&fyne.ShortcutCut{Clipboard: c})
		e.keys.copied(c.text)
		return
	case *fyne.ShortcutPaste:
		e.keys.paste(e.insert)
		return
	}
	e.Entry.TypedShortcut(s)
}

// insert puts text at the cursor, over what is selected.
func (e *entry) insert(text string) {
	if text != "" {
		e.Entry.TypedShortcut(&fyne.ShortcutPaste{Clipboard: &catchClipboard{text: text}})
	}
}

// replace sets the text with the cursor at its end.
func (e *entry) replace(text string) {
	e.SetText(text)
	e.CursorRow = max(0, flow.Lines(text, flow.Body(), max(e.Size().Width-4*look.Unit-4, 50))-1)
	e.Entry.TypedKey(&fyne.KeyEvent{Name: fyne.KeyPageDown})
	e.fit()
}

// catchClipboard is a clipboard that belongs to nobody but us: what the entry
// copies goes to perch, and what it pastes comes from there.
type catchClipboard struct{ text string }

// Content is the text.
func (c *catchClipboard) Content() string { return c.text }

// SetContent keeps the text.
func (c *catchClipboard) SetContent(s string) { c.text = s }

// bareTheme takes frame and background off an entry that stands in a card of its
// own.
type bareTheme struct{ fyne.Theme }

// Size is that of the theme, without the border.
func (t bareTheme) Size(n fyne.ThemeSizeName) float32 {
	if n == theme.SizeNameInputBorder {
		return 0
	}
	return t.Theme.Size(n)
}
