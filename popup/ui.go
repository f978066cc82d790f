package popup

import (
	"fmt"
	"image/color"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/theme"

	"perch/chat"
	"perch/popup/chatview"
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

// all is a change of every row.
func (p *Popup) all() transcript.Change { return transcript.Change{} }

// percent is a share as a whole number of percent.
func percent(share float64) string { return fmt.Sprintf("%d %%", int(share*100+0.5)) }
