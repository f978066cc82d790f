package popup

import (
	"context"
	"slices"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/widget"

	"perch/control"
	"perch/popup/look"
)

// showProviders shows the providers with where their keys lie.
func (u *ui) showProviders() {
	p := u.p
	k := newPicker(u, p.t("popup.providers.search"), p.t("popup.models.none"))
	var all []choice
	fill := func(text string) {
		low := strings.ToLower(strings.TrimSpace(text))
		k.set(slices.DeleteFunc(slices.Clone(all), func(c choice) bool { return !strings.Contains(strings.ToLower(c.title), low) }))
	}
	k.search = fill
	k.take = func(c choice) { u.showProvider(c.id) }
	u.openPage(&page{title: p.t("popup.set.providers"), focus: k.field, object: k.object()})
	do(p, func(ctx context.Context) ([]choice, error) {
		auths, err := p.svc.Auth.AuthStatus(ctx)
		if err != nil {
			return nil, err
		}
		models, err := p.svc.Models.ListModels(ctx)
		return p.providerRows(auths, models), err
	}, func(rows []choice, err error) {
		if err != nil {
			p.fail(err)
			return
		}
		all = rows
		fill(k.field.Text)
	})
}

// providerRows lists every provider once, connected ones first.
func (p *Popup) providerRows(auths []control.AuthStatus, models []control.Model) []choice {
	var rows []choice
	seen := map[string]bool{}
	for _, a := range auths {
		seen[a.Provider] = true
		c := choice{id: a.Provider, title: a.Provider, icon: "check", color: look.Accent, group: p.t("popup.models.ready")}
		switch a.Kind {
		case "":
			c.icon, c.color, c.group, c.detail = "keys", look.Muted, p.t("popup.models.needkey"), p.t("popup.providers.nokey")
		case "none needed":
			c.detail = p.t("popup.providers.none")
		default:
			c.detail = p.t("popup.providers.place", a.Kind, a.Place)
		}
		rows = append(rows, c)
	}
	for _, m := range models {
		name, _, _ := strings.Cut(m.ID, "/")
		if seen[name] || name == "builtin" {
			continue
		}
		seen[name] = true
		c := choice{id: name, title: name, icon: "keys", color: look.Muted, group: p.t("popup.models.needkey"), detail: p.t("popup.providers.nokey")}
		if m.Ready {
			c.icon, c.color, c.group, c.detail = "check", look.Accent, p.t("popup.models.ready"), p.t("popup.providers.none")
		}
		rows = append(rows, c)
	}
	slices.SortStableFunc(rows, func(a, b choice) int {
		if (a.icon == "check") != (b.icon == "check") {
			if a.icon == "check" {
				return -1
			}
			return 1
		}
		return strings.Compare(a.title, b.title)
	})
	return rows
}

// showProvider shows how to connect one provider: a key, or a sign-in, and a test.
func (u *ui) showProvider(name string) {
	p := u.p
	f := newForm(u)
	f.note(p.t("popup.provider.explain", name))
	key := &field{}
	key.Password = true
	key.ExtendBaseWidget(key)
	key.SetPlaceHolder(p.t("popup.provider.key"))
	result := newCaption("", look.Muted)
	model := widget.NewSelect(nil, nil)
	test := func() {
		if model.Selected == "" {
			return
		}
		result.set(p.t("popup.provider.testing"), look.Muted)
		id := model.Selected
		do(p, func(ctx context.Context) (control.ModelCheck, error) { return p.svc.Models.CheckModel(ctx, id) },
			func(c control.ModelCheck, err error) {
				switch {
				case err != nil:
					p.fail(err)
				case c.OK:
					result.set(p.t("popup.provider.works", id), look.Accent)
				default:
					result.set(p.texts.Error(c.Error), look.Alarm)
				}
				u.column.Refresh()
			})
	}
	load := func() {
		do(p, p.svc.Models.ListModels, func(list []control.Model, err error) {
			p.fail(err)
			p.models = list
			var ids []string
			for _, m := range list {
				if strings.HasPrefix(m.ID, name+"/") {
					ids = append(ids, m.ID)
				}
			}
			model.SetOptions(ids)
			if model.Selected == "" && len(ids) > 0 {
				model.SetSelectedIndex(0)
			}
		})
	}
	save := func() {
		secret := strings.TrimSpace(key.Text)
		if secret == "" {
			return
		}
		key.SetText("") // it is on its way to the keyring; nothing here keeps it
		do(p, func(ctx context.Context) (string, error) { return p.svc.Auth.SetKey(ctx, name, secret) },
			func(place string, err error) {
				if err != nil {
					p.fail(err)
					return
				}
				result.set(p.t("popup.provider.saved", place), look.Accent)
				load()
				test()
			})
	}
	key.key = func(k *fyne.KeyEvent) bool {
		switch k.Name {
		case fyne.KeyReturn, fyne.KeyEnter:
			save()
		case fyne.KeyEscape:
			u.showProviders()
		default:
			return false
		}
		return true
	}
	f.add(container.NewBorder(nil, nil, nil, newButton("", p.t("popup.save"), true, save), key))
	f.row("popup.provider.model", model)
	f.buttons(
		newButton("again", p.t("popup.provider.test"), false, test),
		newButton("check", p.t("popup.provider.use"), false, func() {
			if model.Selected != "" {
				p.def = model.Selected
				p.set("model", model.Selected)
				u.closePage()
			}
		}),
		newButton("keys", p.t("popup.provider.signin"), false, func() { p.login(name, result, load) }),
		newButton("trash", p.t("popup.provider.forget"), false, func() {
			p.call(func(ctx context.Context) error { return p.svc.Auth.Logout(ctx, name) },
				func() { result.set(p.t("popup.provider.forgotten"), look.Muted); load() })
		}),
	)
	f.add(result)
	load()
	u.openPage(&page{title: name, focus: key, object: f.object()})
}

// login signs in by OAuth and shows each step.
func (p *Popup) login(provider string, line *caption, then func()) {
	do(p, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, p.svc.Auth.Login(ctx, provider, false, func(s control.LoginStep) error {
			p.post(func() {
				if s.URL != "" {
					line.set(strings.TrimSpace(s.Text+" "+s.Code+" "+s.URL), look.Accent)
					p.openLink(s.URL)
				} else if s.Text != "" {
					line.set(s.Text, look.Muted)
				}
				p.ui.column.Refresh()
			})
			return nil
		})
	}, func(_ struct{}, err error) {
		if err != nil {
			p.fail(err)
			return
		}
		line.set(p.t("popup.provider.signedin"), look.Accent)
		then()
	})
}

// showFirstStart finds ways to connect a model and lets the user try without.
func (u *ui) showFirstStart() {
	p := u.p
	f := newForm(u)
	f.note(p.t("popup.first.explain"))
	list := container.NewVBox(newCaption(p.t("popup.first.looking"), look.Muted))
	f.add(gap(look.Unit))
	f.add(list)
	f.add(gap(look.Unit))
	f.buttons(
		newButton("keys", p.t("popup.first.key"), false, func() { u.showProviders() }),
		newButton("bubble", p.t("popup.first.try"), false, func() { u.closePage() }),
	)
	const room = 330 // for two findings beside the words
	u.openPage(&page{title: p.t("popup.first.title"), object: f.object(), ask: true, height: room})
	do(p, p.svc.Models.Discover, func(found []control.Found, err error) {
		list.Objects = nil
		p.fail(err)
		if len(found) == 0 {
			list.Add(newCaption(p.t("popup.first.nothing"), look.Muted))
		}
		for _, x := range found {
			id := "popup.first.server"
			if x.Kind == "key" {
				id = "popup.first.envkey"
			}
			use := newButton("check", p.t("popup.first.use"), true, func() {
				p.def = x.Model
				p.set("model", x.Model)
				p.state.FirstStart = false
				u.closePage()
				u.notice(p.t("popup.first.connected", x.Model), false)
			})
			text := container.New(&tightLayout{}, newCaptionBody(p.t(id, x.Provider, x.Detail)), newCaption(x.Model, look.Muted))
			list.Add(newCard(look.Surface, 2*look.Unit, container.NewBorder(nil, nil, nil, use, text)))
		}
		list.Refresh()
	})
}
