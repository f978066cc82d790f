package popup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fyne.io/fyne/v2/container"

	"perch/control"
	"perch/popup/look"
)

// showModels shows the models that can be chosen for this session, with what
// they cost.
func (u *ui) showModels() {
	p := u.p
	k := newPicker(u, p.t("popup.models.search"), p.t("popup.models.none"))
	fill := func(text string) { k.set(p.modelRows(p.models, text)) }
	k.search = fill
	k.take = func(c choice) {
		if c.dim {
			u.showProvider(strings.SplitN(c.id, "/", 2)[0])
			return
		}
		p.useModel(c.id)
		u.closePage()
	}
	fill("")
	u.openPage(&page{title: p.t("popup.models"), focus: k.field, object: k.object()})
	do(p, p.svc.Models.ListModels, func(list []control.Model, err error) {
		if err != nil {
			p.fail(err)
			return
		}
		p.models = list
		fill(k.field.Text)
	})
}

// modelRows are the models that match, those ready to use first.
func (p *Popup) modelRows(models []control.Model, text string) []choice {
	words := strings.Fields(strings.ToLower(text))
	now := p.model
	if now == "" {
		now = p.def
	}
	sorted := slices.Clone(models)
	slices.SortStableFunc(sorted, func(a, b control.Model) int {
		if a.Ready != b.Ready {
			if a.Ready {
				return -1
			}
			return 1
		}
		return 0
	})
	var rows []choice
	for _, m := range sorted {
		low := strings.ToLower(m.ID + " " + m.Name)
		if slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(low, w) }) {
			continue
		}
		provider, _, _ := strings.Cut(m.ID, "/")
		c := choice{id: m.ID, title: m.Name, icon: "bubble", color: look.Muted, right: p.price(m), dim: !m.Ready}
		if c.title == "" {
			c.title = m.ID
		}
		c.detail = provider + " · " + p.t("popup.models.window", tokens(m.ContextWindow))
		if m.Vision {
			c.detail += " · " + p.t("popup.models.vision")
		}
		if m.Reasoning {
			c.detail += " · " + p.t("popup.models.reasoning")
		}
		c.group = p.t("popup.models.ready")
		if !m.Ready {
			c.group = p.t("popup.models.needkey")
		}
		if m.ID == now {
			c.icon, c.color = "check", look.Accent
		}
		rows = append(rows, c)
	}
	return rows
}

// price says what a million tokens cost.
func (p *Popup) price(m control.Model) string {
	switch {
	case m.Local:
		return p.t("popup.models.local")
	case m.CostIn == 0 && m.CostOut == 0:
		return ""
	}
	return fmt.Sprintf("$%.4g / $%.4g", m.CostIn, m.CostOut)
}

// useModel sets the model of the session; of none, that of the next one.
func (p *Popup) useModel(id string) {
	p.model = id
	p.ui.refreshStatus()
	if p.session == "" {
		return
	}
	session := p.session
	p.call(func(ctx context.Context) error {
		_, err := p.svc.Sessions.PatchSession(ctx, session, control.SessionPatch{Model: &id})
		return err
	}, nil)
}

// setDir sets the working folder of the session.
func (p *Popup) setDir(dir string) {
	if p.session == "" {
		return
	}
	session := p.session
	p.call(func(ctx context.Context) error {
		_, err := p.svc.Sessions.PatchSession(ctx, session, control.SessionPatch{Dir: &dir})
		return err
	}, func() { p.ui.notice(p.t("popup.dir.set", dir), false) })
}

// showContext shows what fills the model's window.
func (u *ui) showContext() {
	p := u.p
	c := p.tr.View().Context
	share := func(n int) string {
		if c.Window == 0 {
			return ""
		}
		return percent(float64(n) / float64(c.Window))
	}
	rows := container.NewVBox()
	for _, r := range []struct {
		id string
		n  int
	}{
		{"popup.context.prompt", c.Prompt - c.Memory}, {"popup.context.memory", c.Memory}, {"popup.context.tools", c.Tools},
		{"popup.context.history", c.History}, {"popup.context.free", max(0, c.Window-c.Prompt-c.Tools-c.History)},
	} {
		rows.Add(newFact(p.t(r.id), tokens(r.n)+"   "+share(r.n)))
	}
	rows.Add(gap(2 * look.Unit))
	rows.Add(newCaption(p.t("popup.context.explain"), look.Muted))
	rows.Add(gap(look.Unit))
	rows.Add(container.NewHBox(newButton("list", p.t("popup.slash.compact"), false, func() { u.closePage(); p.compact() })))
	u.openPage(&page{title: p.t("popup.context"), object: container.New(&insetLayout{2 * look.Edge, look.Unit}, rows)})
}
