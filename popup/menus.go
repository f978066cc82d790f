package popup

import (
	"bytes"
	"image"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/dialog"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"perch/chat"
	"perch/popup/flow"
	"perch/popup/look"
	"perch/popup/transcript"
)

// attachMenu offers what can be attached.
func (u *ui) attachMenu() {
	p := u.p
	item := func(id, icon string, do func()) *fyne.MenuItem {
		m := fyne.NewMenuItem(p.t(id), do)
		m.Icon = look.Icon(icon, look.Muted)
		return m
	}
	menu := fyne.NewMenu("",
		item("popup.attach.clipboard", "clip", func() { p.attachClip(false) }),
		item("popup.attach.selection", "select", func() { p.attachClip(true) }),
		fyne.NewMenuItemSeparator(),
		item("popup.attach.screen", "camera", func() { p.attachShot("screen") }),
		item("popup.attach.window", "camera", func() { p.attachShot("window") }),
		item("popup.attach.region", "camera", func() { p.attachShot("region") }),
		fyne.NewMenuItemSeparator(),
		item("popup.attach.file", "file", u.chooseFile),
	)
	pop := widget.NewPopUpMenu(menu, p.win.Canvas())
	at := fyne.CurrentApp().Driver().AbsolutePositionForObject(u.attach)
	pop.ShowAtPosition(fyne.NewPos(at.X, max(at.Y-pop.MinSize().Height-look.Unit, 0)))
}

// chooseFile asks for a file.
func (u *ui) chooseFile() {
	d := dialog.NewFileOpen(func(f fyne.URIReadCloser, err error) {
		if err != nil {
			u.p.fail(err)
			return
		}
		if f == nil {
			u.focus()
			return
		}
		path := f.URI().Path()
		_ = f.Close() // it is the run that reads it
		u.p.attachFile(path)
	}, u.p.win)
	u.roomFor(d)
	d.Show()
}

// roomFor makes the window high enough for a dialog.
func (u *ui) roomFor(d dialog.Dialog) {
	const least = 520
	s := u.p.win.Canvas().Size()
	if s.Height < least {
		u.p.win.Resize(fyne.NewSize(s.Width, least))
	}
	d.Resize(fyne.NewSize(s.Width-4*look.Unit, least-4*look.Unit))
	d.SetOnClosed(func() { u.refit(); u.focus() })
}

// rowMenu is the menu of a row.
func (u *ui) rowMenu(r *transcript.Row, at fyne.Position) {
	p := u.p
	var items []*fyne.MenuItem
	add := func(id string, do func()) { items = append(items, fyne.NewMenuItem(p.t(id), do)) }
	if text := p.view.SelectedText(); text != "" {
		add("popup.menu.copy_selected", func() { p.copyText(text) })
	}
	if r.Block != nil {
		add("popup.menu.copy_block", func() { p.copyText(r.Block.Text()) })
	}
	if m := p.message(r.Message); m != nil {
		add("popup.menu.copy_message", func() { p.copyText(m.PlainText()) })
		add("popup.fork", func() { p.fork(m.ID) })
		pinned := p.isPinned(m.ID)
		id := "popup.menu.keep"
		if pinned {
			id = "popup.menu.unkeep"
		}
		add(id, func() { p.keep(m.ID, !pinned) })
		if m.Role == chat.RoleUser {
			add("popup.menu.edit", func() { p.edit(m.ID, m.PlainText()) })
		}
	}
	if len(items) == 0 {
		return
	}
	widget.ShowPopUpMenuAtPosition(fyne.NewMenu("", items...), p.win.Canvas(), at)
}

func (p *Popup) message(id string) *chat.Message {
	if id == "" {
		return nil
	}
	h := p.tr.View().History
	for i := range h {
		if h[i].ID == id {
			return &h[i]
		}
	}
	return nil
}

// showPicture shows a picture at the size of the window.
func (u *ui) showPicture(img *chat.Image) {
	data := img.Data
	if len(data) == 0 {
		data = u.p.pictures[img.Hash]
	}
	pic, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return
	}
	o := canvas.NewImageFromImage(pic)
	o.FillMode, o.ScaleMode = canvas.ImageFillContain, canvas.ImageScaleSmooth
	u.openPage(&page{title: u.p.t("popup.picture"), object: container.New(&insetLayout{look.Edge, look.Unit}, o)})
}

// showShortcuts shows every key.
func (u *ui) showShortcuts() {
	p := u.p
	rows := container.NewVBox()
	for _, s := range shortcuts {
		if s.keys == "" {
			rows.Add(gap(look.Unit))
			title := newCaption(p.t(s.id), look.Muted)
			title.bold = true
			rows.Add(title)
			continue
		}
		rows.Add(newFact(p.t(s.id), s.keys))
	}
	u.openPage(&page{title: p.t("popup.keys"), object: container.NewVScroll(container.New(&insetLayout{2 * look.Edge, look.Unit}, rows))})
}

// shortcuts is the sheet of keys; lines without keys are headings.
var shortcuts = []struct{ id, keys string }{
	{"popup.keys.write", ""},
	{"popup.keys.send", "Enter"}, {"popup.keys.break", "Shift+Enter"}, {"popup.keys.recall", "↑"}, {"popup.keys.slash", "/"},
	{"popup.keys.clip", "Ctrl+Shift+V"}, {"popup.keys.shot", "Ctrl+Shift+S"},
	{"popup.keys.answer", ""},
	{"popup.keys.stop", "Ctrl+."}, {"popup.keys.copy", "Ctrl+Shift+C"}, {"popup.keys.insert", "Ctrl+Shift+I"}, {"popup.keys.again", "Ctrl+Shift+R"}, {"popup.keys.unfold", "Ctrl+Shift+O"},
	{"popup.keys.scroll", "PgUp / PgDn"}, {"popup.keys.end", "Ctrl+J"},
	{"popup.keys.question", ""},
	{"popup.answer.once", "Ctrl+1"}, {"popup.answer.session", "Ctrl+2"}, {"popup.answer.always", "Ctrl+3"}, {"popup.answer.no", "Ctrl+0 / Enter"},
	{"popup.keys.window", ""},
	{"popup.keys.new", "Ctrl+N"}, {"popup.keys.sessions", "Ctrl+K"}, {"popup.keys.model", "Ctrl+M"}, {"popup.keys.settings", "Ctrl+,"},
	{"popup.keys.sheet", "Ctrl+/"}, {"popup.keys.hide", "Esc"},
	{"popup.keys.list", ""},
	{"popup.keys.rename", "F2"}, {"popup.keys.pin", "Ctrl+P"}, {"popup.keys.export", "Ctrl+E"}, {"popup.keys.delete", "Ctrl+D"},
}

// newFact is a line with a name and a value.
func newFact(name, value string) fyne.CanvasObject {
	n := newCaption(name, theme.ColorNameForeground)
	n.body = true
	v := newCaption(value, look.Muted)
	v.body, v.align = true, flow.AlignRight
	return container.NewGridWithColumns(2, n, v)
}

// againLast asks the question of the newest answer again.
func (u *ui) againLast() {
	rows := u.p.tr.Rows()
	for i := len(rows) - 1; i >= 0; i-- {
		if rows[i].Kind == transcript.Footer && rows[i].Foot.Question != "" {
			u.p.regenerate(rows[i].Foot)
			return
		}
	}
}

// toggleLast folds the newest foldable line.
func (u *ui) toggleLast() {
	rows := u.p.tr.Rows()
	for i := len(rows) - 1; i >= 0; i-- {
		if rows[i].Key != "" {
			u.p.draw(u.p.tr.Toggle(rows[i].Key))
			return
		}
	}
}
