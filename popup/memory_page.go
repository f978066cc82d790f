package popup

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/dialog"

	"perch/chat"
	"perch/control"
	"perch/popup/look"
)

// showMemory shows everything that is remembered; all of it can be edited and
// deleted, what stays out of the prompt too.
func (u *ui) showMemory() {
	p := u.p
	f := newForm(u)
	f.note(p.t("popup.memory.explain"))
	body := container.NewVBox()
	f.add(body)
	var load func()
	part := func(id, name string, m control.MemoryPart) {
		title := newCaption(p.t(id)+fmt.Sprintf("   %d / %d", m.Used, m.Limit), look.Accent)
		title.bold = true
		body.Add(gap(look.Unit))
		body.Add(title)
		texts := make([]string, len(m.Entries))
		for i, e := range m.Entries {
			texts[i] = e.Text
		}
		for i, e := range m.Entries {
			line := &field{}
			line.ExtendBaseWidget(line)
			line.SetText(e.Text)
			save := func() {
				if line.Text == texts[i] {
					return
				}
				next := append([]string(nil), texts...)
				next[i] = strings.TrimSpace(line.Text)
				p.call(func(ctx context.Context) error { return p.svc.Memory.MemoryReplace(ctx, name, next) }, load)
			}
			line.key = func(k *fyne.KeyEvent) bool {
				switch k.Name {
				case fyne.KeyReturn, fyne.KeyEnter:
					save()
				case fyne.KeyEscape:
					p.escape()
				default:
					return false
				}
				return true
			}
			drop := newFlat("trash", "", func() {
				p.call(func(ctx context.Context) error { return p.svc.Memory.MemoryRemove(ctx, texts[i]) }, load)
			})
			body.Add(container.NewBorder(nil, nil, nil, container.NewHBox(newFlat("check", "", save), drop), line))
			if e.Masked != "" {
				body.Add(newCaption(p.t("popup.memory.masked", e.Masked), look.Alarm))
			}
		}
		add := &field{}
		add.ExtendBaseWidget(add)
		add.SetPlaceHolder(p.t("popup.memory.add"))
		add.key = func(k *fyne.KeyEvent) bool {
			switch k.Name {
			case fyne.KeyReturn, fyne.KeyEnter:
				if text := strings.TrimSpace(add.Text); text != "" {
					p.call(func(ctx context.Context) error { return p.svc.Memory.MemoryAdd(ctx, name, text) }, load)
				}
			case fyne.KeyEscape:
				p.escape()
			default:
				return false
			}
			return true
		}
		body.Add(add)
	}
	load = func() {
		do(p, p.svc.Memory.Memory, func(m control.MemoryView, err error) {
			if err != nil {
				p.fail(err)
				return
			}
			body.Objects = nil
			part("popup.memory.profile", "profile", m.Profile)
			part("popup.memory.notes", "notes", m.Notes)
			body.Refresh()
		})
	}
	load()
	u.openPage(&page{title: p.t("popup.memory"), object: f.object()})
}

// showKnowledge shows what is indexed, takes folders in, and searches.
func (u *ui) showKnowledge() {
	p := u.p
	f := newForm(u)
	summary := f.note(p.t("popup.knowledge.explain"))
	folders := container.NewVBox()
	f.add(folders)
	progress := f.note("")
	var load func()
	show := func(s control.KBStatus) {
		summary.set(p.t("popup.knowledge.sum", s.Documents, s.Chunks, len(s.Folders)), look.Muted)
		progress.set("", look.Muted)
		if s.Working != "" {
			progress.set(p.t("popup.knowledge.working", s.Done, s.Total, s.Working), look.Accent)
		}
		folders.Objects = nil
		for _, d := range s.Folders {
			drop := newFlat("trash", "", func() {
				p.call(func(ctx context.Context) error { return p.svc.Knowledge.KBRemove(ctx, d.Path) }, load)
			})
			text := container.New(&tightLayout{}, newCaptionBody(d.Path), newCaption(p.t("popup.knowledge.folder", d.Documents, d.Chunks, d.Skipped), look.Muted))
			folders.Add(newCard(look.Surface, 2*look.Unit, container.NewBorder(nil, nil, nil, drop, text)))
		}
		const most = 20
		for i, pr := range s.Problems {
			if i == most {
				folders.Add(newCaption(p.t("popup.knowledge.more", len(s.Problems)-most), look.Muted))
				break
			}
			folders.Add(newCaption(pr.Path+": "+pr.Reason, look.Muted))
		}
		folders.Refresh()
	}
	load = func() {
		do(p, p.svc.Knowledge.KBStatus, func(s control.KBStatus, err error) {
			if err != nil {
				p.fail(err)
				return
			}
			show(s)
		})
	}
	add := func(path string) {
		do(p, func(ctx context.Context) (control.KBStatus, error) {
			return p.svc.Knowledge.KBAdd(ctx, []string{path}, func(s control.KBStatus) { p.post(func() { show(s) }) })
		}, func(s control.KBStatus, err error) {
			if err != nil {
				p.fail(err)
				load()
				return
			}
			show(s)
		})
	}
	f.buttons(newButton("plus", p.t("popup.knowledge.add"), true, func() {
		d := dialog.NewFolderOpen(func(l fyne.ListableURI, err error) {
			if err != nil {
				p.fail(err)
				return
			}
			if l != nil {
				add(l.Path())
			}
		}, p.win)
		u.roomFor(d)
		d.Show()
	}))
	query := &field{}
	query.ExtendBaseWidget(query)
	query.SetPlaceHolder(p.t("popup.knowledge.search"))
	hits := container.NewVBox()
	query.key = func(k *fyne.KeyEvent) bool {
		switch k.Name {
		case fyne.KeyReturn, fyne.KeyEnter:
			u.searchKnowledge(query.Text, hits)
		case fyne.KeyEscape:
			p.escape()
		default:
			return false
		}
		return true
	}
	f.heading("popup.knowledge.try")
	f.add(query)
	f.add(hits)
	load()
	u.openPage(&page{title: p.t("popup.knowledge"), focus: query, object: f.object()})
}

func (u *ui) searchKnowledge(query string, into *fyne.Container) {
	p := u.p
	if strings.TrimSpace(query) == "" {
		return
	}
	do(p, func(ctx context.Context) ([]chat.SearchHit, error) { return p.svc.Knowledge.KBSearch(ctx, query, 0) },
		func(hits []chat.SearchHit, err error) {
			if err != nil {
				p.fail(err)
				return
			}
			into.Objects = nil
			if len(hits) == 0 {
				into.Add(newCaption(p.t("popup.knowledge.nothing"), look.Muted))
			}
			for _, h := range hits {
				title := h.Title
				if title == "" {
					title = filepath.Base(h.Path)
				}
				if h.StartLine > 0 {
					title = fmt.Sprintf("%s:%d–%d", title, h.StartLine, h.EndLine)
				}
				open := newFlat("file", fmt.Sprintf("%.2f", h.Score), func() { p.openLink(h.Path) })
				into.Add(newCard(look.Surface, 2*look.Unit, container.NewBorder(nil, nil, nil, open,
					container.New(&tightLayout{}, newCaptionBody(title), newCaption(h.Snippet, look.Muted)))))
			}
			into.Refresh()
		})
}
