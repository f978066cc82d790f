package popup

import (
	"fmt"
	"image/color"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/theme"

	"perch/chat"
	"perch/control"
	"perch/popup/chatview"
	"perch/popup/flow"
	"perch/popup/look"
	"perch/popup/transcript"
)

// ui are the parts of the window.
type ui struct {
	p       *Popup
	content fyne.CanvasObject
	back    *canvas.Rectangle
	border  *canvas.Rectangle
	column  *fyne.Container

	body        *fyne.Container // the conversation, or a page
	page        *page
	end         *button
	approval    *approval
	queue       *fyne.Container
	chips       *fyne.Container
	completions *completions
	entry       *entry
	card        *card
	attach      *button
	sendBtn     *button
	status      *status
	room        float32 // greatest height the screen has for the window, in units
	recalled    int     // how far Up has gone back
	busy        bool    // a request is on its way
	bare        *container.ThemeOverride
}

func newUI(p *Popup) *ui {
	u := &ui{p: p}
	u.back = canvas.NewRectangle(look.Color(theme.ColorNameBackground))
	u.border = newBorder()
	p.view = chatview.New(u.viewActions())
	p.view.OnMove(u.refreshEnd)
	u.end = newButton("end", "", false, func() { p.view.ToEnd(); u.refreshEnd(); u.focus() })
	u.end.Hide()
	u.approval = newApproval(p)
	u.queue = container.NewStack()
	u.chips = container.NewStack()
	u.completions = newCompletions(p)
	u.entry = newEntry(keys{
		send: p.send, escape: p.escape, shortcut: u.shortcut, recall: u.recall,
		scroll:   func(pages float32) { p.view.ScrollBy(pages * p.view.PageHeight()) },
		complete: func(move int, take bool) bool { return u.completions.key(move, take) },
		copied:   p.copyText,
		copyOut: func() bool {
			text := p.view.SelectedText()
			p.copyText(text)
			return text != ""
		},
		paste:   p.paste,
		changed: func(string) { p.typed() },
		post:    p.post,
	})
	u.attach = newIcon("plus", func() string { return p.t("popup.tip.attach") }, u.hint, u.attachMenu)
	u.sendBtn = newIcon("send", func() string { return p.t("popup.tip.send") }, u.hint, func() {
		if _, running := p.tr.Running(); running && u.text() == "" {
			p.stop()
			return
		}
		p.send(u.text())
		u.focus()
	})
	u.bare = container.NewThemeOverride(u.entry, bareTheme{p.app.Settings().Theme()})
	u.card = newCard(look.Surface, look.Unit, container.New(&entryLayout{u}, u.attach, u.bare, u.sendBtn))
	u.status = newStatus(p)
	u.body = container.NewStack()
	u.column = container.New(&columnLayout{u}, u.body, u.end, u.approval.object, u.queue, u.chips, u.completions.object, u.card, u.status.object)
	u.content = container.NewStack(u.back, u.column, u.border)
	u.restyle()
	u.retext()
	u.opened()
	return u
}

func (u *ui) viewActions() chatview.Actions {
	p := u.p
	return chatview.Actions{
		Text:      p.t,
		ErrorText: func(e *chat.Error) string { return p.texts.Error(e) },
		NoticeText: func(id string, args []string, english string) string {
			return p.texts.Notice(&chat.Notice{ID: id, Args: args, Text: english})
		},
		Toggle:         func(key string) { p.draw(p.tr.Toggle(key)) },
		Copy:           p.copyText,
		Open:           p.openLink,
		Hover:          func(link string) { u.hint(link) },
		Picture:        p.picture,
		OpenPicture:    u.showPicture,
		UndoCompaction: p.undoCompaction,
		Edit:           p.edit,
		Regenerate:     p.regenerate,
		Fork:           p.fork,
		Revert:         p.revert,
		Insert:         p.insertAnswer,
		Menu:           u.rowMenu,
		Touched:        func() { u.focus() },
	}
}

// columnLayout stacks the parts: the body takes what the others leave.
type columnLayout struct{ u *ui }

func (l *columnLayout) MinSize([]fyne.CanvasObject) fyne.Size {
	return fyne.NewSize(leastWidth, l.u.below())
}

// entryGap is the space around the entry.
const entryGap = 3 * look.Unit

func (l *columnLayout) Layout(_ []fyne.CanvasObject, s fyne.Size) {
	u := l.u
	y := s.Height
	place := func(o fyne.CanvasObject, inset, space float32) {
		if !o.Visible() {
			return
		}
		h := o.MinSize().Height
		if h <= 0 {
			return
		}
		y -= h
		o.Move(fyne.NewPos(inset, y))
		o.Resize(fyne.NewSize(s.Width-2*inset, h))
		y -= space
	}
	place(u.status.object, entryGap, look.Unit)
	place(u.card, entryGap, look.Unit)
	place(u.completions.object, entryGap, look.Unit)
	place(u.chips, entryGap, look.Unit)
	place(u.queue, entryGap, look.Unit)
	place(u.approval.object, entryGap, look.Unit)
	y -= entryGap - look.Unit
	u.body.Move(fyne.NewPos(1, 1))
	u.body.Resize(fyne.NewSize(s.Width-2, max(0, y-1)))
	e := u.end.MinSize()
	u.end.Move(fyne.NewPos((s.Width-e.Width)/2, y-e.Height-2*look.Unit))
	u.end.Resize(e)
}

// below is the height of everything under the body.
func (u *ui) below() float32 {
	h := entryGap - look.Unit
	for _, o := range []fyne.CanvasObject{u.status.object, u.card, u.completions.object, u.chips, u.queue, u.approval.object} {
		if m := o.MinSize().Height; o.Visible() && m > 0 {
			h += m + look.Unit
		}
	}
	return h
}

// entryLayout puts the entry between its buttons, which stay at the last line.
type entryLayout struct{ u *ui }

func (l *entryLayout) MinSize([]fyne.CanvasObject) fyne.Size {
	return fyne.NewSize(200, max(l.u.bare.MinSize().Height, l.u.attach.MinSize().Height+2))
}

func (l *entryLayout) Layout(_ []fyne.CanvasObject, s fyne.Size) {
	a, b := l.u.attach.MinSize(), l.u.sendBtn.MinSize()
	l.u.attach.Resize(a)
	l.u.attach.Move(fyne.NewPos(1, s.Height-a.Height-2))
	l.u.sendBtn.Resize(b)
	l.u.sendBtn.Move(fyne.NewPos(s.Width-b.Width-1, s.Height-b.Height-2))
	l.u.bare.Move(fyne.NewPos(a.Width, 0))
	l.u.bare.Resize(fyne.NewSize(s.Width-a.Width-b.Width, s.Height))
}

// wanted is the size that the window should have for what it shows.
func (u *ui) wanted() fyne.Size {
	most := u.p.saved.Height
	if u.room > 0 {
		most = min(most, u.room)
	}
	h := u.below()
	switch {
	case u.page != nil && u.page.ask:
		h = max(h, min(most, h+u.page.height))
	case u.page != nil:
		h = max(h, most)
	case len(u.p.tr.Rows()) > 0 || u.p.session != "":
		h += max(u.p.view.Height()+3*look.Unit, leastBody)
	}
	return fyne.NewSize(u.p.saved.Width, min(h, max(most, u.below())))
}

// Steps of the window's growth, in units: it grows a few times during an answer
// and not with every line.
const (
	growStep  float32 = 120
	leastBody float32 = 140
)

// grow makes the window higher for what it shows; it becomes lower only when
// another session or page is opened.
func (u *ui) grow() {
	if !u.p.shown {
		return
	}
	now, want := u.p.win.Canvas().Size(), u.wanted()
	if want.Height <= now.Height+0.5 {
		u.column.Refresh()
		return
	}
	steps := float32(int((want.Height-now.Height+growStep-1)/growStep)) * growStep
	if len(u.p.tr.Rows()) == 0 {
		steps = want.Height - now.Height
	}
	most := max(u.p.saved.Height, u.below())
	if u.room > 0 {
		most = min(most, max(u.room, u.below()))
	}
	u.p.win.Resize(fyne.NewSize(now.Width, min(now.Height+steps, max(most, want.Height))))
	u.column.Refresh()
}

// refit gives the window exactly the height that it needs.
func (u *ui) refit() {
	u.column.Refresh()
	if u.p.shown {
		u.p.win.Resize(u.wanted())
	}
}

// opened shows an empty or another session.
func (u *ui) opened() {
	u.recalled = 0
	if u.page == nil {
		u.body.Objects = []fyne.CanvasObject{u.p.view}
		u.body.Refresh()
		u.card.Show()
		u.chips.Show()
	}
	u.refreshChips()
	u.refreshStatus()
	u.refreshEnd()
	if u.p.win != nil {
		u.refit()
	}
}

func (u *ui) text() string { return u.entry.Text }

func (u *ui) setText(s string) { u.entry.replace(s) }

// focus gives the entry the keyboard, or the page's own field.
func (u *ui) focus() {
	if u.p.win == nil {
		return
	}
	c := u.p.win.Canvas()
	if u.page != nil && !u.page.ask {
		if u.page.focus != nil {
			c.Focus(u.page.focus)
		} else {
			c.Unfocus()
		}
		return
	}
	if c.Overlays().Top() == nil {
		c.Focus(u.entry)
	}
}

// typed follows a change of the entry's text.
func (u *ui) typed() {
	u.completions.update(u.entry.Text)
	u.refreshSend()
	u.grow()
}

// recall puts an earlier message of the user into the entry, as Up does.
func (u *ui) recall(back bool) bool {
	h := u.p.history
	text := u.entry.Text
	at := len(h) - u.recalled
	if u.recalled > 0 && (at < 0 || at >= len(h) || h[at] != text) {
		u.recalled = 0 // the user changed what was recalled
		return false
	}
	if u.recalled == 0 && (!back || text != "") {
		return false
	}
	next := u.recalled + 1
	if !back {
		next = u.recalled - 1
	}
	if next > len(h) {
		return true
	}
	u.recalled = next
	if next == 0 {
		u.setText("")
		return true
	}
	u.setText(h[len(h)-next])
	return true
}

// working shows that a request is on its way.
func (u *ui) working(on bool) {
	u.busy = on
	u.refreshSend()
}

func (u *ui) refreshSend() {
	_, running := u.p.tr.Running()
	switch {
	case (running || u.busy) && u.entry.Text == "":
		u.sendBtn.set("stop", "", look.Accent)
	case u.entry.Text != "" || len(u.p.chips) > 0:
		u.sendBtn.set("send", "", look.Accent)
	default:
		u.sendBtn.set("send", "", look.Muted)
	}
}

func (u *ui) refreshStatus() {
	u.refreshSend()
	u.refreshQueue()
	u.status.refresh()
}

// refreshEnd shows the button to the end while the end is out of view.
func (u *ui) refreshEnd() {
	if u.page == nil && !u.p.view.AtEnd() {
		u.end.Show()
	} else {
		u.end.Hide()
	}
}

// refreshQueue shows what waits for the run at work.
func (u *ui) refreshQueue() {
	pending := u.p.tr.Pending()
	if len(pending) == 0 {
		if len(u.queue.Objects) > 0 {
			u.queue.Objects = nil
			u.column.Refresh()
		}
		return
	}
	text := strings.Join(strings.Fields(strings.Join(pending, " · ")), " ")
	label := newCaption(u.p.t("popup.queued", flow.Ellipsis(text, 380, look.SmallSize(), fyne.TextStyle{})), look.Muted)
	u.queue.Objects = []fyne.CanvasObject{container.NewBorder(nil, nil, nil, newFlat("undo", u.p.t("popup.take_back"), u.p.unqueue), label)}
	u.queue.Refresh()
	u.column.Refresh()
}

// refreshChips shows what is attached.
func (u *ui) refreshChips() {
	u.chips.Objects = nil
	if len(u.p.chips) > 0 {
		row := container.New(&wrapLayout{})
		for i := range u.p.chips {
			c := &u.p.chips[i]
			b := newButton(c.icon, c.label+"  ×", false, func() { u.p.dropChip(i) })
			b.hint, b.tip = u.hint, func() string { return u.p.t("popup.tip.drop", c.label) }
			row.Add(b)
		}
		u.chips.Objects = []fyne.CanvasObject{row}
	}
	u.chips.Refresh()
	u.refreshSend()
	u.column.Refresh()
}

// wrapLayout sets objects in lines.
type wrapLayout struct{ width float32 }

func (l *wrapLayout) each(objects []fyne.CanvasObject, width float32, f func(o fyne.CanvasObject, p fyne.Position)) float32 {
	x, y, h := float32(0), float32(0), float32(0)
	for _, o := range objects {
		m := o.MinSize()
		if x > 0 && x+m.Width > width {
			x, y, h = 0, y+h+look.Unit, 0
		}
		f(o, fyne.NewPos(x, y))
		x, h = x+m.Width+look.Unit, max(h, m.Height)
	}
	return y + h
}

func (l *wrapLayout) Layout(objects []fyne.CanvasObject, s fyne.Size) {
	l.width = s.Width
	l.each(objects, s.Width, func(o fyne.CanvasObject, p fyne.Position) {
		o.Resize(o.MinSize())
		o.Move(p)
	})
}

func (l *wrapLayout) MinSize(objects []fyne.CanvasObject) fyne.Size {
	w := l.width
	if w == 0 {
		w = defaultWidth
	}
	return fyne.NewSize(0, l.each(objects, w, func(fyne.CanvasObject, fyne.Position) {}))
}

// notice shows a line in the status bar for a few seconds; an error stays until
// the next one.
func (u *ui) notice(text string, isError bool) { u.status.say(text, isError) }

func (u *ui) hint(text string) { u.status.hint(text) }

// ask shows the permission question at work, or takes it away.
func (u *ui) ask(q *chat.Permission) {
	if q != nil && q.ID != u.approval.call() {
		u.p.asked = time.Now()
	}
	u.approval.set(q)
	if q != nil {
		u.entry.SetPlaceHolder(u.p.t("popup.ask.reason"))
	} else {
		u.entry.SetPlaceHolder(u.p.t("popup.placeholder"))
	}
	u.column.Refresh()
	u.grow()
}

// retext says everything in the language at work.
func (u *ui) retext() {
	u.entry.SetPlaceHolder(u.p.t("popup.placeholder"))
	u.status.refresh()
}

// restyle takes over a change of theme or text size.
func (u *ui) restyle() {
	u.back.FillColor = look.Color(theme.ColorNameBackground)
	u.border.FillColor, u.border.StrokeColor = color.Transparent, look.Color(look.Hairline)
	u.bare.Theme = bareTheme{u.p.app.Settings().Theme()}
	u.bare.Refresh()
	u.back.Refresh()
	u.border.Refresh()
	u.p.view.Restyle()
	u.refreshChips()
	u.column.Refresh()
}

// openLink follows a link that the user clicked. The address was shown while
// the pointer was over it.
func (p *Popup) openLink(link string) {
	target, err := url.Parse(link)
	ok := err == nil && openable[target.Scheme]
	if strings.HasPrefix(link, "/") && harmless(link) { // a source: a file of the user
		target, ok = &url.URL{Scheme: "file", Path: link}, true
	}
	if !ok {
		p.copyText(link)
		p.ui.notice(p.t("popup.link.copied", link), false)
		return
	}
	if p.opt.OpenURL != nil {
		err = p.opt.OpenURL(target.String())
	} else {
		err = p.app.OpenURL(target)
	}
	if err != nil {
		p.fail(chat.NewError(chat.ClassInternal, "err.open_link", "%s could not be opened: %v. Copy the address instead.", link, err))
		return
	}
	p.ui.notice(p.t("popup.link.opened", link), false)
}

// openable are the schemes that a click opens; a model may write any other, and
// those start programs.
var openable = map[string]bool{"http": true, "https": true, "mailto": true}

// harmless reports whether opening a path shows something and starts nothing.
func harmless(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	const anyExec = 0o111
	return info.IsDir() || info.Mode().IsRegular() && info.Mode()&anyExec == 0 && filepath.Ext(path) != ".desktop"
}

// paste inserts the clipboard's text, or attaches its picture.
func (p *Popup) paste(insert func(string)) {
	do(p, p.svc.Desktop.ReadClipboard, func(c control.Clip, err error) {
		switch {
		case err != nil:
			insert(p.app.Clipboard().Content())
		case c.Text != "":
			insert(strings.ReplaceAll(c.Text, "\r\n", "\n"))
		case len(c.PNG) > 0:
			ic, err := imageChip(c.PNG, p.t("popup.chip.clipboard"), "image", "clipboard.read")
			if err != nil {
				p.fail(err)
				return
			}
			p.attachChip(ic)
		}
	})
}

// all is a change of every row.
func (p *Popup) all() transcript.Change { return transcript.Change{} }

// percent is a share as a whole number of percent.
func percent(share float64) string { return fmt.Sprintf("%d %%", int(share*100+0.5)) }
