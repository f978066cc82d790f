package popup

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/widget"

	"perch/control"
	"perch/popup/look"
)

// form builds a page of settings.
type form struct {
	u    *ui
	rows *fyne.Container
}

func newForm(u *ui) *form { return &form{u: u, rows: container.NewVBox()} }

func (f *form) heading(id string) {
	if len(f.rows.Objects) > 0 {
		f.rows.Add(gap(2 * look.Unit))
	}
	t := newCaption(f.u.p.t(id), look.Accent)
	t.bold = true
	f.rows.Add(t)
}

// row is a name with a control beside it.
func (f *form) row(id string, control fyne.CanvasObject) {
	f.rows.Add(container.New(&settingLayout{}, newCaptionBody(f.u.p.t(id)), control))
}

func (f *form) note(text string) *caption {
	c := newCaption(text, look.Muted)
	f.rows.Add(c)
	return c
}

func (f *form) add(o fyne.CanvasObject) { f.rows.Add(o) }

func (f *form) buttons(b ...fyne.CanvasObject) { f.rows.Add(container.New(&wrapLayout{}, b...)) }

func (f *form) object() fyne.CanvasObject {
	return container.NewVScroll(container.New(&insetLayout{2 * look.Edge, look.Unit}, f.rows))
}

func newCaptionBody(text string) *caption {
	c := newCaption(text, "foreground")
	c.body = true
	return c
}

// settingLayout gives the name two fifths and the control the rest.
type settingLayout struct{}

func (settingLayout) Layout(o []fyne.CanvasObject, s fyne.Size) {
	const share = 0.4
	w := s.Width * share
	h := o[0].MinSize().Height
	o[0].Resize(fyne.NewSize(w-look.Unit, h))
	o[0].Move(fyne.NewPos(0, (s.Height-h)/2))
	m := o[1].MinSize()
	o[1].Resize(fyne.NewSize(s.Width-w, m.Height))
	o[1].Move(fyne.NewPos(w, (s.Height-m.Height)/2))
}

func (settingLayout) MinSize(o []fyne.CanvasObject) fyne.Size {
	return fyne.NewSize(200, max(o[0].MinSize().Height, o[1].MinSize().Height))
}

// set writes a setting and applies it.
func (p *Popup) set(key string, value any) {
	p.call(func(ctx context.Context) error { return p.svc.Settings.Set(ctx, key, value) },
		func() { p.goes(p.loadSettings) })
}

// lookup finds a setting in the effective ones.
func (s *settings) lookup(key string) any {
	var at any = s.raw
	for _, k := range strings.Split(key, ".") {
		m, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = m[k]
	}
	return at
}

func (s *settings) text(key string) string {
	v, _ := s.lookup(key).(string)
	return v
}

func (s *settings) number(key string, or float64) float64 {
	if v, ok := s.lookup(key).(float64); ok {
		return v
	}
	return or
}

func (s *settings) on(key string) bool {
	v, _ := s.lookup(key).(bool)
	return v
}

// showSettings shows the settings, all of which stand in config.toml too.
func (u *ui) showSettings() {
	p := u.p
	f := newForm(u)
	f.heading("popup.set.models")
	model := newButton("bubble", orDash(shortModel(p.def))+" ▾", false, func() { u.chooseDefault() })
	f.row("popup.set.default", container.NewHBox(model))
	f.buttons(newButton("gear", p.t("popup.set.providers"), false, func() { u.showProviders() }),
		newButton("search", p.t("popup.first.title"), false, func() { u.showFirstStart() }))

	f.heading("popup.set.hotkey")
	state := newCaption(p.hotkeyLine(p.state.Hotkey), look.Muted)
	catch := newCatcher(u, func(combo string) { p.setHotkey(combo, state) })
	f.row("popup.set.hotkey.keys", container.NewHBox(catch, newFlat("cross", p.t("popup.set.off"), func() { p.setHotkey("", state) })))
	f.add(state)

	f.heading("popup.set.look")
	themes := []string{p.t("popup.set.theme.system"), p.t("popup.set.theme.light"), p.t("popup.set.theme.dark")}
	values := []string{"", "light", "dark"}
	f.row("popup.set.theme", p.selectOf(themes, slices.Index(values, p.conf.Popup.Theme), func(i int) { p.set("popup.theme", values[i]) }))
	scales := []string{"85 %", "100 %", "115 %", "130 %", "150 %"}
	factors := []float64{0.85, 1, 1.15, 1.3, 1.5}
	at := slices.Index(factors, p.conf.Popup.TextScale)
	if at < 0 {
		at = 1
	}
	f.row("popup.set.size", p.selectOf(scales, at, func(i int) { p.set("popup.text_scale", factors[i]) }))
	langs := []string{p.t("popup.set.theme.system"), "English", "Deutsch", "Русский", "简体中文"}
	codes := []string{"", "en", "de", "ru", "zh"}
	f.row("popup.set.language", p.selectOf(langs, slices.Index(codes, p.conf.Language), func(i int) { p.set("language", codes[i]) }))
	f.add(p.check("popup.set.pinned", "popup.pinned"))
	f.row("popup.set.resume", p.numberField("popup.resume_minutes", defaultResume))

	f.heading("popup.set.notify")
	f.add(p.check("popup.set.notify.off", "notify.off"))
	f.row("popup.set.notify.after", p.numberField("notify.after_seconds", 10))

	f.heading("popup.set.runs")
	f.row("popup.set.dir", p.textField("working_dir"))
	f.row("popup.set.compact", p.numberField("context.compact_at", 0.6))
	f.row("popup.set.cost_run", p.numberField("limits.cost_per_run", 0))
	f.row("popup.set.cost_day", p.numberField("limits.cost_per_day", 0))
	if names := p.connectors(); len(names) > 0 {
		f.heading("popup.set.connectors")
		for _, n := range names {
			f.add(p.checkNot(n, "connectors."+n+".off"))
		}
	}

	f.heading("popup.set.more")
	f.buttons(
		newButton("tool", p.t("popup.set.permissions"), false, func() { u.showRules() }),
		newButton("book", p.t("popup.memory"), false, func() { u.showMemory() }),
		newButton("file", p.t("popup.knowledge"), false, func() { u.showKnowledge() }),
		newButton("keys", p.t("popup.keys"), false, func() { u.showShortcuts() }),
		newButton("download", p.t("popup.set.export_all"), false, p.exportAll),
	)
	use := f.note("")
	f.note(p.t("popup.set.file"))
	do(p, p.svc.Owner.Stats, func(s control.Stats, err error) {
		if err == nil {
			use.set(p.t("popup.set.use", s.Runs, fmt.Sprintf("%.2f", s.Usage.Cost), fmt.Sprintf("%.2f", s.Today.Cost)), look.Muted)
		}
	})
	u.openPage(&page{title: p.t("popup.settings"), object: f.object(), closed: catch.stop})
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

func (p *Popup) selectOf(options []string, at int, chosen func(i int)) fyne.CanvasObject {
	s := widget.NewSelect(options, nil)
	if at >= 0 && at < len(options) {
		s.SetSelectedIndex(at)
	}
	s.OnChanged = func(string) { chosen(s.SelectedIndex()) }
	return s
}

func (p *Popup) check(id, key string) fyne.CanvasObject {
	c := widget.NewCheck(p.t(id), nil)
	c.SetChecked(p.conf.on(key))
	c.OnChanged = func(on bool) { p.set(key, on) }
	return c
}

// checkNot is a box that is checked while the setting is off.
func (p *Popup) checkNot(label, key string) fyne.CanvasObject {
	c := widget.NewCheck(label, nil)
	c.SetChecked(!p.conf.on(key))
	c.OnChanged = func(on bool) { p.set(key, !on) }
	return c
}

// numberField writes a number when Enter is pressed or the field is left.
func (p *Popup) numberField(key string, or float64) fyne.CanvasObject {
	return p.field(strconv.FormatFloat(p.conf.number(key, or), 'f', -1, 64), func(s string) {
		v, err := strconv.ParseFloat(strings.Replace(strings.TrimSpace(s), ",", ".", 1), 64)
		if err != nil || v < 0 {
			p.ui.notice(p.t("popup.set.number"), true)
			return
		}
		if v == float64(int64(v)) {
			p.set(key, int64(v))
			return
		}
		p.set(key, v)
	})
}

func (p *Popup) textField(key string) fyne.CanvasObject {
	return p.field(p.conf.text(key), func(s string) { p.set(key, strings.TrimSpace(s)) })
}

func (p *Popup) field(text string, save func(string)) fyne.CanvasObject {
	e := &field{}
	e.ExtendBaseWidget(e)
	e.SetText(text)
	saved := text
	e.key = func(k *fyne.KeyEvent) bool {
		switch k.Name {
		case fyne.KeyReturn, fyne.KeyEnter:
			if e.Text != saved {
				saved = e.Text
				save(e.Text)
			}
			return true
		case fyne.KeyEscape:
			p.escape()
			return true
		}
		return false
	}
	e.OnSubmitted = save
	ok := newFlat("check", "", func() {
		if e.Text != saved {
			saved = e.Text
			save(e.Text)
		}
	})
	return container.NewBorder(nil, nil, nil, ok, e)
}

// connectors are the names of the configured connectors.
func (p *Popup) connectors() []string {
	m, _ := p.conf.lookup("connectors").(map[string]any)
	var names []string
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

func (p *Popup) hotkeyLine(h control.HotkeyState) string {
	switch {
	case h.Problem != "":
		return p.t("popup.set.hotkey.problem", h.Combo, h.Problem)
	case h.Combo == "":
		return p.t("popup.set.hotkey.off")
	}
	return p.t("popup.set.hotkey.now", h.Combo)
}

// setHotkey writes the combination and shows what became of it.
func (p *Popup) setHotkey(combo string, line *caption) {
	do(p, func(ctx context.Context) (control.HotkeyState, error) {
		if err := p.svc.Settings.Set(ctx, "hotkey", combo); err != nil {
			return control.HotkeyState{}, err
		}
		return p.svc.Desktop.PauseHotkey(ctx, false)
	}, func(h control.HotkeyState, err error) {
		if err != nil {
			p.fail(err)
			return
		}
		color := look.Muted
		if h.Problem != "" {
			color = look.Alarm
		}
		line.set(p.hotkeyLine(h), color)
		p.ui.column.Refresh()
	})
}

// chooseDefault shows the models to choose the default from.
func (u *ui) chooseDefault() {
	p := u.p
	k := newPicker(u, p.t("popup.models.search"), p.t("popup.models.none"))
	fill := func(text string) { k.set(p.modelRows(p.models, text)) }
	k.search = fill
	k.take = func(c choice) {
		if c.dim {
			u.showProvider(strings.SplitN(c.id, "/", 2)[0])
			return
		}
		p.def = c.id
		p.set("model", c.id)
		u.showSettings()
	}
	u.openPage(&page{title: p.t("popup.set.default"), focus: k.field, object: k.object()})
	do(p, p.svc.Models.ListModels, func(list []control.Model, err error) {
		p.fail(err)
		p.models = list
		fill(k.field.Text)
	})
}

// exportAll writes every session to a file of its own.
func (p *Popup) exportAll() {
	do(p, func(ctx context.Context) ([]control.SessionInfo, error) {
		return p.svc.Sessions.ListSessions(ctx, control.SessionQuery{})
	}, func(list []control.SessionInfo, err error) {
		if err != nil {
			p.fail(err)
			return
		}
		for _, s := range list {
			p.export(s.ID)
		}
	})
}

// showRules shows what is permitted for always, to be revoked.
func (u *ui) showRules() {
	p := u.p
	f := newForm(u)
	f.note(p.t("popup.rules.explain"))
	list := container.NewVBox()
	f.add(list)
	var load func()
	load = func() {
		do(p, p.svc.Rules.ListRules, func(rules []control.Rule, err error) {
			if err != nil {
				p.fail(err)
				return
			}
			list.Objects = nil
			if len(rules) == 0 {
				list.Add(newCaption(p.t("popup.rules.none"), look.Muted))
			}
			for _, r := range rules {
				text := newCaption(fmt.Sprintf("%s · %s", r.Tool, r.Kind), look.Muted)
				what := newCaptionBody(Visible(r.Subject))
				b := newFlat("trash", p.t("popup.rules.revoke"), func() {
					p.call(func(ctx context.Context) error { return p.svc.Rules.RevokeRule(ctx, r.ID) }, load)
				})
				list.Add(container.NewBorder(nil, nil, nil, b, container.New(&tightLayout{}, what, text)))
			}
			list.Refresh()
		})
	}
	load()
	u.openPage(&page{title: p.t("popup.set.permissions"), object: f.object()})
}
