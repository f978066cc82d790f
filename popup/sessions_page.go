package popup

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"

	"perch/chat"
	"perch/control"
	"perch/popup/look"
)

// showSessions shows all sessions: pinned ones first, then by day, searched over
// all their texts.
func (u *ui) showSessions() {
	p := u.p
	k := newPicker(u, p.t("popup.sessions.search"), p.t("popup.sessions.none"))
	load := func(text string) {
		do(p, func(ctx context.Context) ([]control.SessionInfo, error) {
			return p.svc.Sessions.ListSessions(ctx, control.SessionQuery{Search: strings.TrimSpace(text)})
		}, func(list []control.SessionInfo, err error) {
			if err != nil {
				p.fail(err)
				return
			}
			if k.field.Text == text {
				k.set(p.sessionRows(list, time.Now()))
			}
		})
	}
	var wait *time.Timer
	k.search = func(text string) {
		if wait != nil {
			wait.Stop()
		}
		const pause = 120 * time.Millisecond // between keys of somebody who types fast
		wait = time.AfterFunc(pause, func() { p.post(func() { load(text) }) })
	}
	k.take = func(c choice) {
		u.closePage()
		p.open(c.id)
	}
	reload := func() { load(k.field.Text) }
	k.keys = func(name fyne.KeyName, mod fyne.KeyModifier, c choice) bool {
		switch {
		case name == fyne.KeyF2 && mod == 0:
			u.askName(c, reload)
		case name == fyne.KeyD && mod == fyne.KeyModifierControl:
			p.delete(c.id, reload)
		case name == fyne.KeyP && mod == fyne.KeyModifierControl:
			p.pin(c.id, reload)
		case name == fyne.KeyE && mod == fyne.KeyModifierControl:
			p.export(c.id)
		default:
			return false
		}
		return true
	}
	k.actions = func(c choice) []*button {
		tip := func(id string) func() string { return func() string { return p.t(id) } }
		return []*button{
			newIcon("pin", tip("popup.tip.pin"), u.hint, func() { p.pin(c.id, reload) }),
			newIcon("edit", tip("popup.tip.rename"), u.hint, func() { u.askName(c, reload) }),
			newIcon("download", tip("popup.tip.export"), u.hint, func() { p.export(c.id) }),
			newIcon("trash", tip("popup.tip.delete"), u.hint, func() { p.delete(c.id, reload) }),
		}
	}
	k.set(nil)
	u.openPage(&page{title: p.t("popup.sessions"), focus: k.field, object: k.object()})
	load("")
}

// sessionRows groups sessions as the list shows them.
func (p *Popup) sessionRows(list []control.SessionInfo, now time.Time) []choice {
	slices.SortStableFunc(list, func(a, b control.SessionInfo) int {
		if a.Pinned != b.Pinned {
			if a.Pinned {
				return -1
			}
			return 1
		}
		return b.Used.Compare(a.Used)
	})
	rows := make([]choice, 0, len(list))
	for _, s := range list {
		c := choice{id: s.ID, title: s.Title, detail: s.Snippet, right: p.age(s.Used, now), icon: "bubble", color: look.Muted}
		if c.title == "" {
			c.title = p.t("popup.untitled")
		}
		if s.Problem != "" {
			c.detail, c.icon, c.color = s.Problem, "warn", look.Alarm
		}
		switch s.Activity {
		case control.Running:
			c.icon, c.color, c.right = "again", look.Accent, p.t("popup.running")
		case control.Waiting:
			c.icon, c.color, c.right = "warn", look.Accent, p.t("popup.waiting")
		case control.Done:
			c.icon, c.color = "check", look.Accent
		case control.Failed:
			c.icon, c.color = "warn", look.Alarm
		}
		c.group = p.day(s.Used, now)
		if s.Pinned {
			c.group = p.t("popup.pinned")
		}
		rows = append(rows, c)
	}
	return rows
}

// age says how long ago something was, briefly.
func (p *Popup) age(t, now time.Time) string {
	switch d := now.Sub(t); {
	case t.IsZero():
		return ""
	case d < time.Minute:
		return p.t("popup.now")
	case d < time.Hour:
		return p.t("popup.minutes", int(d.Minutes()))
	case t.YearDay() == now.YearDay() && t.Year() == now.Year():
		return t.Format("15:04")
	case t.Year() == now.Year():
		return t.Format("01-02")
	}
	return t.Format("2006-01")
}

// day is the heading of a day.
func (p *Popup) day(t, now time.Time) string {
	y, m, d := now.Date()
	today := time.Date(y, m, d, 0, 0, 0, 0, now.Location())
	switch {
	case !t.Before(today):
		return p.t("popup.today")
	case !t.Before(today.AddDate(0, 0, -1)):
		return p.t("popup.yesterday")
	case !t.Before(today.AddDate(0, 0, -7)):
		return p.t("popup.week")
	}
	return p.t("popup.earlier")
}

// askName shows a field for a session's new title.
func (u *ui) askName(c choice, then func()) {
	p := u.p
	f := &field{}
	f.ExtendBaseWidget(f)
	f.SetText(c.title)
	save := func() {
		p.rename(c.id, f.Text)
		u.showSessions()
	}
	f.key = func(e *fyne.KeyEvent) bool {
		switch e.Name {
		case fyne.KeyReturn, fyne.KeyEnter:
			save()
		case fyne.KeyEscape:
			u.showSessions()
		default:
			return false
		}
		return true
	}
	u.openPage(&page{title: p.t("popup.rename"), focus: f, object: container.New(&insetLayout{look.Edge, look.Unit},
		container.NewVBox(f, gap(look.Unit), container.NewHBox(newButton("", p.t("popup.save"), true, save))))})
	_ = then
}

func (p *Popup) rename(id, title string) {
	title = strings.TrimSpace(title)
	if id == "" || title == "" {
		return
	}
	p.call(func(ctx context.Context) error {
		_, err := p.svc.Sessions.PatchSession(ctx, id, control.SessionPatch{Title: &title})
		return err
	}, func() {
		if id == p.session {
			p.info.Title = title
			p.ui.refreshStatus()
		}
	})
}

func (p *Popup) pin(id string, then func()) {
	do(p, func(ctx context.Context) (struct{}, error) {
		list, err := p.svc.Sessions.ListSessions(ctx, control.SessionQuery{})
		if err != nil {
			return struct{}{}, err
		}
		on := true
		for _, s := range list {
			if s.ID == id {
				on = !s.Pinned
			}
		}
		_, err = p.svc.Sessions.PatchSession(ctx, id, control.SessionPatch{Pinned: &on})
		return struct{}{}, err
	}, func(_ struct{}, err error) {
		p.fail(err)
		then()
	})
}

// delete removes a session; for a minute it can be brought back.
func (p *Popup) delete(id string, then func()) {
	p.call(func(ctx context.Context) error { return p.svc.Sessions.DeleteSession(ctx, id) }, func() {
		if id == p.session {
			p.session = ""
			p.open("")
		}
		then()
		p.ui.offerUndo(p.t("popup.deleted"), func() {
			p.call(func(ctx context.Context) error { return p.svc.Sessions.RestoreSession(ctx, id) }, then)
		})
	})
}

// undoTime is how long the undo of a delete is offered: less than the minute
// for which the owner keeps the session.
const undoTime = 50 * time.Second

// offerUndo shows a line with a button above the entry.
func (u *ui) offerUndo(text string, undo func()) {
	clear := func() {
		u.queue.Objects = nil
		u.queue.Refresh()
		u.column.Refresh()
	}
	b := newFlat("undo", u.p.t("popup.undo"), func() { clear(); undo() })
	row := container.NewBorder(nil, nil, nil, b, newCaption(text, look.Muted))
	u.queue.Objects = []fyne.CanvasObject{row}
	u.queue.Refresh()
	u.column.Refresh()
	time.AfterFunc(undoTime, func() {
		u.p.post(func() {
			if len(u.queue.Objects) == 1 && u.queue.Objects[0] == row {
				clear()
			}
		})
	})
}

// export writes a session as JSON lines into the user's download or home folder.
func (p *Popup) export(id string) {
	if id == "" {
		return
	}
	do(p, func(ctx context.Context) (string, error) {
		var b bytes.Buffer
		err := p.svc.Sessions.ExportSession(ctx, id, func(line []byte) error {
			b.Write(line)
			return b.WriteByte('\n')
		})
		if err != nil {
			return "", err
		}
		return writeExport(exportDir(), id, b.Bytes())
	}, func(path string, err error) {
		if err != nil {
			p.fail(err)
			return
		}
		p.ui.notice(p.t("popup.exported", path), false)
	})
}

func exportDir() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return os.TempDir()
	}
	for _, d := range []string{os.Getenv("XDG_DOWNLOAD_DIR"), filepath.Join(home, "Downloads")} {
		if info, err := os.Stat(d); d != "" && err == nil && info.IsDir() {
			return d
		}
	}
	return home
}

// writeExport writes a file of its own, never over another.
func writeExport(dir, id string, data []byte) (string, error) {
	safe := strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r < ' ' {
			return '-'
		}
		return r
	}, id)
	for n := range 1000 {
		name := fmt.Sprintf("perch-%s.jsonl", safe)
		if n > 0 {
			name = fmt.Sprintf("perch-%s-%d.jsonl", safe, n)
		}
		path := filepath.Join(dir, name)
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if os.IsExist(err) {
			continue
		}
		if err != nil {
			return "", chat.NewError(chat.ClassStore, "err.export", "The session could not be written to %s: %v. Choose a folder that can be written to.", dir, err)
		}
		_, err = f.Write(data)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return "", chat.NewError(chat.ClassStore, "err.export", "The session could not be written to %s: %v. Choose a folder that can be written to.", dir, err)
		}
		return path, nil
	}
	return "", chat.NewError(chat.ClassStore, "err.export", "The session could not be written to %s: %v. Choose a folder that can be written to.", dir, "a thousand exports are there already")
}
