package desktop

import (
	"slices"
	"sync"

	"fyne.io/systray"
)

// trayIcon is the icon with its menu. The menu is rebuilt whole from what the
// owner says. Only where every entry still means the same are labels and marks
// written over, so that a menu that is open keeps the entries it shows.
type trayIcon struct {
	r *role

	// wanted is closed with the first menu: a role that serves an owner without a
	// tray shows no icon.
	wanted chan struct{}

	mu      sync.Mutex // guards what follows, and serialises the library
	asked   bool
	ready   bool
	want    Menu
	shown   Menu
	items   []*systray.MenuItem
	icons   map[Icon][]byte
	clicked chan Event
}

// set takes a new menu.
func (t *trayIcon) set(m Menu) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.want = m
	if !t.asked {
		t.asked = true
		close(t.wanted)
	}
	if t.ready {
		t.render()
	}
}

// isWanted reports whether there was a menu yet.
func (t *trayIcon) isWanted() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.asked
}

// show builds the menu for the first time, when the library is ready.
func (t *trayIcon) show() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ready = true
	t.clicked = make(chan Event, 8)
	clicked := t.clicked
	go func() {
		for e := range clicked {
			t.r.event(e)
		}
	}()
	t.render()
}

// render brings the icon to what is wanted. mu is held.
func (t *trayIcon) render() {
	m := t.want
	if m.Icon == "" {
		m.Icon = IconIdle
	}
	if m.Icon != t.shown.Icon {
		if t.icons == nil {
			t.icons = map[Icon][]byte{}
		}
		if t.icons[m.Icon] == nil {
			t.icons[m.Icon] = iconBytes(m.Icon)
		}
		systray.SetIcon(t.icons[m.Icon])
	}
	if m.Name != t.shown.Name && m.Name != "" {
		systray.SetTitle(m.Name)
	}
	if m.ToolTip != t.shown.ToolTip {
		systray.SetTooltip(m.ToolTip)
	}
	switch {
	case slices.Equal(m.Entries, t.shown.Entries):
	case sameMeaning(m.Entries, t.shown.Entries):
		t.relabel(m.Entries)
	default:
		t.rebuild(m.Entries)
	}
	t.shown = m
}

// sameMeaning reports whether a click on each place does the same in both menus.
func sameMeaning(a, b []Entry) bool {
	return slices.EqualFunc(a, b, func(x, y Entry) bool {
		return x.Action == y.Action && x.Arg == y.Arg && x.Separator == y.Separator && x.Checkable == y.Checkable
	})
}

// relabel writes labels and marks over. mu is held.
func (t *trayIcon) relabel(entries []Entry) {
	for i, e := range entries {
		item, old := t.items[i], t.shown.Entries[i]
		if item == nil {
			continue
		}
		if e.Label != old.Label {
			item.SetTitle(e.Label)
		}
		if e.Checked != old.Checked {
			mark(item, e.Checked)
		}
		if e.Disabled != old.Disabled {
			enable(item, !e.Disabled)
		}
	}
}

func mark(item *systray.MenuItem, on bool) {
	if on {
		item.Check()
	} else {
		item.Uncheck()
	}
}

func enable(item *systray.MenuItem, on bool) {
	if on {
		item.Enable()
	} else {
		item.Disable()
	}
}

// rebuild makes the menu anew. mu is held.
func (t *trayIcon) rebuild(entries []Entry) {
	systray.ResetMenu()
	t.items = make([]*systray.MenuItem, len(entries))
	for i, e := range entries {
		switch {
		case e.Separator:
			systray.AddSeparator()
			continue
		case e.Checkable:
			t.items[i] = systray.AddMenuItemCheckbox(e.Label, "", e.Checked)
		default:
			t.items[i] = systray.AddMenuItem(e.Label, "")
		}
		if e.Disabled {
			t.items[i].Disable()
		}
		go follow(t.items[i], Event{Kind: Action, Action: e.Action, Arg: e.Arg}, t.clicked)
	}
}

// follow hands on the clicks on an entry until the entry is removed. The library
// drops a click that nobody waits for, so this does nothing else.
func follow(item *systray.MenuItem, e Event, clicked chan<- Event) {
	for range item.ClickedCh {
		clicked <- e
	}
}
