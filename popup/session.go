package popup

import (
	"context"
	"strings"
	"time"

	"perch/chat"
	"perch/control"
	"perch/popup/transcript"
)

// open shows a session; "" or "new" is a fresh one that is made with its first
// message.
func (p *Popup) open(id string) {
	if id == "new" {
		id = ""
	}
	if id != "" && id == p.session {
		p.seen()
		return
	}
	p.saveDraft()
	if p.unwatch != nil {
		p.unwatch()
		p.unwatch = nil
	}
	p.session, p.info, p.model = id, control.SessionInfo{}, ""
	p.reportState()
	p.chips = nil
	p.tr = transcript.New()
	p.view.Clear()
	p.ui.setText("")
	p.drafted = ""
	p.ui.ask(nil)
	p.ui.opened()
	if id == "" {
		return
	}
	do(p, func(ctx context.Context) (control.SessionView, error) {
		return p.svc.Sessions.ViewSession(ctx, id)
	}, func(v control.SessionView, err error) {
		if p.session != id {
			return
		}
		if err != nil {
			p.session = ""
			p.fail(err)
			return
		}
		p.info, p.model = v.SessionInfo, v.Model
		p.draw(p.tr.Reset(control.Snapshot{View: v}))
		p.view.ToEnd()
		p.ui.refit()
		if v.Draft != "" && p.ui.text() == "" {
			p.ui.setText(v.Draft)
			p.drafted = v.Draft
		}
		p.remember(v.History)
		p.ui.refreshStatus()
		p.watch(id)
		p.seen()
	})
}

// remember fills the list that Up recalls from.
func (p *Popup) remember(msgs []chat.Message) {
	p.history = p.history[:0]
	for i := range msgs {
		if msgs[i].Role == chat.RoleUser && msgs[i].Kind == chat.KindOrdinary {
			if text := msgs[i].PlainText(); text != "" {
				p.history = append(p.history, text)
			}
		}
	}
}

// seen clears the mark of a session that was done since the user last looked.
func (p *Popup) seen() {
	if p.session == "" || !p.shown {
		return
	}
	id := p.session
	p.goes(func(ctx context.Context) {
		_, _ = p.svc.Sessions.PatchSession(ctx, id, control.SessionPatch{Seen: true})
	})
}

// resume is called by the hotkey: it keeps the session that was used within the
// time of the settings, and shows a fresh one otherwise.
func (p *Popup) resume(then func()) {
	if p.session != "" {
		if _, running := p.tr.Running(); running || p.fresh(p.info.Used) {
			then()
			return
		}
		p.open("")
		then()
		return
	}
	if p.created || p.ui.text() != "" {
		then()
		return
	}
	do(p, func(ctx context.Context) ([]control.SessionInfo, error) {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		return p.svc.Sessions.ListSessions(ctx, control.SessionQuery{Limit: 1})
	}, func(list []control.SessionInfo, err error) {
		if err == nil && len(list) > 0 && p.session == "" && p.ui.text() == "" && p.fresh(list[0].Used) {
			p.open(list[0].ID)
		}
		then()
	})
}

func (p *Popup) fresh(used time.Time) bool {
	minutes := p.conf.Popup.ResumeMinutes
	if minutes == 0 {
		minutes = defaultResume
	}
	return time.Since(used) < time.Duration(minutes)*time.Minute
}

// send starts a run with what the entry and its chips hold.
func (p *Popup) send(text string) {
	text = strings.TrimRight(text, " \n")
	if q := p.tr.Question(); q != nil {
		p.answer(control.No, text)
		return
	}
	if strings.TrimSpace(text) == "" && len(p.chips) == 0 {
		return
	}
	if p.slash(text) {
		return
	}
	p.ui.closePage()
	ask := control.Ask{Text: text, Interactive: true}
	for _, c := range p.chips {
		c.into(&ask)
	}
	chips := p.chips
	if p.model != "" && p.model != p.info.Model {
		ask.Model = p.model
	}
	p.chips = nil
	p.ui.setText("")
	p.drafted = ""
	p.history = append(p.history, text)
	if _, running := p.tr.Running(); !running {
		p.draw(p.tr.AddUser(ask.Text, ask.Images))
		p.ui.working(true)
	}
	p.view.ToEnd()
	p.ui.refreshChips()
	p.ui.grow()
	session := p.session
	do(p, func(ctx context.Context) (control.AskReply, error) {
		if session == "" {
			info, err := p.svc.Sessions.CreateSession(ctx, control.NewSession{Model: p.model})
			if err != nil {
				return control.AskReply{}, err
			}
			session = info.ID
			p.postWait(func() { p.adopt(info) })
		}
		return p.svc.Runs.Ask(ctx, session, ask)
	}, func(r control.AskReply, err error) {
		p.ui.working(false)
		if err == nil && r.NeedKey != "" {
			err = chat.NewError(chat.ClassAuth, "err.need_key", "The key in %s is missing. Enter one in the settings.", r.NeedKey)
		}
		if err != nil { // nothing is lost: the words go back where they were
			if p.ui.text() == "" {
				p.ui.setText(text)
				p.chips = append(chips, p.chips...)
				p.ui.refreshChips()
				p.draw(p.tr.TakeBack())
			}
			p.draw(p.tr.AddError(chat.AsError(err)))
			return
		}
		p.ui.refreshStatus()
	})
}

// adopt takes over the session that was made for the first message.
func (p *Popup) adopt(info control.SessionInfo) {
	p.session, p.info = info.ID, info
	p.reportState() // the owner notifies about every session but this one
	p.watch(info.ID)
}

// stop ends the run at work; what waits behind it returns to the entry.
func (p *Popup) stop() {
	run, ok := p.tr.Running()
	if !ok {
		return
	}
	session, pending := p.session, len(p.tr.Pending()) > 0
	p.ui.notice(p.t("popup.stopping"), false)
	do(p, func(ctx context.Context) (string, error) {
		text := ""
		if pending {
			text, _ = p.svc.Runs.Unqueue(ctx, session)
		}
		return text, p.svc.Runs.Stop(ctx, run)
	}, func(text string, err error) {
		p.fail(err)
		if text != "" && p.ui.text() == "" {
			p.ui.setText(text)
		}
	})
}

// unqueue takes what waits for the run back into the entry.
func (p *Popup) unqueue() {
	session := p.session
	do(p, func(ctx context.Context) (string, error) { return p.svc.Runs.Unqueue(ctx, session) },
		func(text string, err error) {
			p.fail(err)
			if text != "" {
				p.ui.setText(strings.TrimSpace(text + "\n" + p.ui.text()))
			}
		})
}

// answer answers the permission question at work.
func (p *Popup) answer(v control.Verdict, words string) {
	q := p.tr.Question()
	if q == nil || time.Since(p.asked) < answerDelay {
		return
	}
	run, call := q.Run, q.ID
	p.draw(p.tr.Answered(call, v))
	p.ui.ask(p.tr.Question())
	p.ui.setText("")
	p.call(func(ctx context.Context) error {
		return p.svc.Runs.Answer(ctx, run, control.Answer{Call: call, Verdict: v, Words: words})
	}, nil)
}

// draftPause is the pause in typing after which the draft is stored.
const draftPause = 800 * time.Millisecond

// typed is called when the entry's text changed.
func (p *Popup) typed() {
	if p.draft != nil {
		p.draft.Stop()
	}
	p.draft = time.AfterFunc(draftPause, func() { p.post(p.saveDraft) })
	p.ui.typed()
}

// saveDraft stores the draft of the session at work.
func (p *Popup) saveDraft() {
	text := p.ui.text()
	if p.session == "" || text == p.drafted {
		return
	}
	p.drafted = text
	id := p.session
	p.goes(func(ctx context.Context) {
		if _, err := p.svc.Sessions.PatchSession(ctx, id, control.SessionPatch{Draft: &text}); err != nil && ctx.Err() == nil {
			p.log.Info("popup: draft not stored", "err", err)
		}
	})
}

// edit puts a message back into the entry; sending it replaces it and all after.
func (p *Popup) edit(message, text string) {
	session := p.session
	p.call(func(ctx context.Context) error { return p.svc.Sessions.TruncateSession(ctx, session, message) }, func() {
		p.ui.setText(text)
		p.ui.focus()
	})
}

// regenerate asks the question of an answer again.
func (p *Popup) regenerate(f transcript.Foot) {
	session := p.session
	var q *chat.Message
	for i := range p.tr.View().History {
		if m := &p.tr.View().History[i]; m.ID == f.Question {
			q = m
		}
	}
	if q == nil {
		return
	}
	ask := control.Ask{Text: q.PlainText(), Interactive: true}
	missing := []chat.Image{}
	for i := range q.Parts {
		if img := q.Parts[i].Image; img != nil {
			missing = append(missing, *img)
		}
	}
	p.call(func(ctx context.Context) error {
		for _, img := range missing {
			if len(img.Data) == 0 {
				data, mime, err := p.svc.Sessions.Image(ctx, img.Hash)
				if err != nil {
					return err
				}
				img.Data, img.MIME = data, mime
			}
			ask.Images = append(ask.Images, img)
		}
		if err := p.svc.Sessions.TruncateSession(ctx, session, f.Question); err != nil {
			return err
		}
		_, err := p.svc.Runs.Ask(ctx, session, ask)
		return err
	}, nil)
}

// fork copies the session up to a message and shows the copy.
func (p *Popup) fork(message string) {
	session := p.session
	do(p, func(ctx context.Context) (control.SessionInfo, error) {
		return p.svc.Sessions.ForkSession(ctx, session, message)
	}, func(info control.SessionInfo, err error) {
		if err != nil {
			p.fail(err)
			return
		}
		p.open(info.ID)
		p.ui.notice(p.t("popup.forked"), false)
	})
}

// revert puts back every file that a run changed.
func (p *Popup) revert(run string) {
	do(p, func(ctx context.Context) ([]string, error) { return p.svc.Runs.Revert(ctx, run) },
		func(paths []string, err error) {
			if err != nil {
				p.fail(err)
				return
			}
			p.ui.notice(p.t("popup.reverted", len(paths)), false)
		})
}

// undoCompaction takes the newest compaction back.
func (p *Popup) undoCompaction() {
	session := p.session
	p.call(func(ctx context.Context) error { return p.svc.Runs.UndoCompaction(ctx, session) }, func() {
		p.ui.notice(p.t("popup.compaction.undone"), false)
		p.refreshView()
	})
}

// refreshView asks for the session anew although no run has ended.
func (p *Popup) refreshView() {
	id := p.session
	if id == "" {
		return
	}
	do(p, func(ctx context.Context) (control.SessionView, error) { return p.svc.Sessions.ViewSession(ctx, id) },
		func(v control.SessionView, err error) {
			if _, running := p.tr.Running(); err != nil || running || p.session != id {
				return
			}
			p.info = v.SessionInfo
			p.draw(p.tr.Reset(control.Snapshot{View: v}))
			p.ui.refreshStatus()
		})
}

// picture returns an image's bytes, or nil and fetches them.
func (p *Popup) picture(img *chat.Image) []byte {
	if data := p.pictures[img.Hash]; len(data) > 0 || img.Hash == "" || p.fetching[img.Hash] {
		return data
	}
	hash := img.Hash
	p.fetching[hash] = true
	do(p, func(ctx context.Context) ([]byte, error) {
		data, _, err := p.svc.Sessions.Image(ctx, hash)
		return data, err
	}, func(data []byte, err error) {
		if err != nil {
			p.log.Info("popup: image not found", "hash", hash, "err", err)
			return
		}
		const most = 48 // pictures kept; the oldest are fetched again when seen
		if len(p.pictures) > most {
			p.pictures = map[string][]byte{}
		}
		p.pictures[hash] = data
		delete(p.fetching, hash)
		p.view.PictureReady(hash)
	})
	return nil
}

// copyText hands text to the owner, which keeps it when this process ends.
func (p *Popup) copyText(text string) {
	if text == "" {
		return
	}
	do(p, func(ctx context.Context) (struct{}, error) {
		if p.svc.Desktop == nil {
			return struct{}{}, chat.NewError(chat.ClassMisuse, "err.no_desktop", "There is no desktop here.")
		}
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		return struct{}{}, p.svc.Desktop.WriteClipboard(ctx, control.Clip{Text: text})
	}, func(_ struct{}, err error) {
		if err != nil { // better owned by this process than not copied
			p.app.Clipboard().SetContent(text)
		}
		p.owns = err != nil
		p.ui.notice(p.t("popup.copied"), false)
	})
}

// insertAnswer puts text into the window that had the focus before. When that
// fails it is on the clipboard, and the popup says so.
func (p *Popup) insertAnswer(text string) {
	do(p, func(ctx context.Context) (struct{}, error) {
		if p.svc.Desktop == nil {
			return struct{}{}, chat.NewError(chat.ClassMisuse, "err.no_desktop", "There is no desktop here.")
		}
		return struct{}{}, p.svc.Desktop.WriteClipboard(ctx, control.Clip{Text: text})
	}, func(_ struct{}, err error) {
		if err != nil {
			p.fail(err)
			return
		}
		p.hide()
		do(p, func(context.Context) (struct{}, error) { return struct{}{}, p.desk.Paste() }, func(_ struct{}, err error) {
			if err != nil {
				p.log.Info("popup: answer not inserted", "err", err)
				p.show(nil)
				p.ui.notice(p.t("popup.insert.failed"), false)
			}
		})
	})
}
