package popup

import (
	"context"
	"slices"
)

// isPinned reports whether a message survives every compaction.
func (p *Popup) isPinned(id string) bool {
	return slices.Contains(p.tr.View().PinnedMessages, id)
}

// keep makes a message survive every compaction, or not.
func (p *Popup) keep(id string, on bool) {
	session := p.session
	p.call(func(ctx context.Context) error { return p.svc.Sessions.PinMessage(ctx, session, id, on) }, func() {
		word := "popup.kept"
		if !on {
			word = "popup.unkept"
		}
		p.ui.notice(p.t(word), false)
		p.refreshView()
	})
}
