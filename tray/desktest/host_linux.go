package desktest

import (
	"fmt"
	"image"
	"image/color"
	"strings"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/prop"
)

const (
	watcherName = "org.kde.StatusNotifierWatcher"
	watcherPath = dbus.ObjectPath("/StatusNotifierWatcher")
	itemIface   = "org.kde.StatusNotifierItem"
	menuIface   = "com.canonical.dbusmenu"
)

// Host is a tray host: the part of a panel that shows icons and their menus.
type Host struct {
	r *Rig
	c *dbus.Conn

	props *prop.Properties

	mu    sync.Mutex // guards what follows
	items []trayItem
	deaf  int // registrations to lose
}

// trayItem is where an icon lives.
type trayItem struct {
	owner string
	path  dbus.ObjectPath
}

// MenuEntry is one line of a tray menu.
type MenuEntry struct {
	ID        int32
	Label     string
	Separator bool
	Enabled   bool
	Checkable bool
	Checked   bool
}

// StartHost starts a tray host, which ends with the test or by [Host.Stop].
func (r *Rig) StartHost() *Host {
	r.t.Helper()
	h := &Host{r: r, c: r.Connect()}
	props := prop.Map{watcherName: {
		"RegisteredStatusNotifierItems":  {Value: []string{}},
		"IsStatusNotifierHostRegistered": {Value: true},
		"ProtocolVersion":                {Value: int32(0)},
	}}
	var err error
	if h.props, err = prop.Export(h.c, watcherPath, props); err != nil {
		r.t.Fatal(err)
	}
	if err := h.c.Export(hostMethods{h}, watcherPath, watcherName); err != nil {
		r.t.Fatal(err)
	}
	rep, err := h.c.RequestName(watcherName, dbus.NameFlagDoNotQueue)
	if err != nil || rep != dbus.RequestNameReplyPrimaryOwner {
		r.t.Fatalf("own %s: %v, reply %d", watcherName, err, rep)
	}
	return h
}

// Stop takes the host away, as a panel that ends does.
func (h *Host) Stop() { _ = h.c.Close() }

// hostMethods are what the bus may call.
type hostMethods struct{ h *Host }

// RegisterStatusNotifierItem takes an icon: a bus name, or a path of the caller.
func (m hostMethods) RegisterStatusNotifierItem(sender dbus.Sender, service string) *dbus.Error {
	it := trayItem{owner: service, path: "/StatusNotifierItem"}
	if strings.HasPrefix(service, "/") {
		it = trayItem{owner: string(sender), path: dbus.ObjectPath(service)}
	}
	m.h.mu.Lock()
	defer m.h.mu.Unlock()
	if m.h.deaf > 0 {
		m.h.deaf--
		return nil
	}
	for _, old := range m.h.items {
		if old == it {
			return nil
		}
	}
	m.h.items = append(m.h.items, it)
	var names []string
	for _, i := range m.h.items {
		names = append(names, i.owner+string(i.path))
	}
	m.h.props.SetMust(watcherName, "RegisteredStatusNotifierItems", names)
	return nil
}

// Lose makes the host lose the next registration.
func (h *Host) Lose() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.deaf++
}

// RegisterStatusNotifierHost is there for hosts other than this one.
func (m hostMethods) RegisterStatusNotifierHost(string) *dbus.Error { return nil }

// Icons is how many icons are shown; those whose process is gone are not.
func (h *Host) Icons() int { return len(h.live()) }

// live are the icons whose owner is on the bus.
func (h *Host) live() []trayItem {
	h.mu.Lock()
	items := append([]trayItem(nil), h.items...)
	h.mu.Unlock()
	var out []trayItem
	for _, it := range items {
		if h.r.HasName(it.owner) {
			out = append(out, it)
		}
	}
	return out
}

// item is the newest icon.
func (h *Host) item() (trayItem, bool) {
	items := h.live()
	if len(items) == 0 {
		return trayItem{}, false
	}
	return items[len(items)-1], true
}

// Icon is the picture of the newest icon, nil when there is none.
func (h *Host) Icon() image.Image {
	it, ok := h.item()
	if !ok {
		return nil
	}
	v, err := h.c.Object(it.owner, it.path).GetProperty(itemIface + ".IconPixmap")
	if err != nil {
		return nil
	}
	var maps []struct {
		W, H int32
		Pix  []byte
	}
	if v.Store(&maps) != nil || len(maps) == 0 {
		return nil
	}
	p := maps[len(maps)-1]
	img := image.NewNRGBA(image.Rect(0, 0, int(p.W), int(p.H)))
	for i := 0; i+4 <= len(p.Pix); i += 4 {
		n := i / 4
		img.SetNRGBA(n%int(p.W), n/int(p.W), color.NRGBA{R: p.Pix[i+1], G: p.Pix[i+2], B: p.Pix[i+3], A: p.Pix[i]})
	}
	return img
}

// ToolTip is what the newest icon says when the mouse rests on it.
func (h *Host) ToolTip() string {
	it, ok := h.item()
	if !ok {
		return ""
	}
	v, err := h.c.Object(it.owner, it.path).GetProperty(itemIface + ".ToolTip")
	if err != nil {
		return ""
	}
	var tip struct {
		Name  string
		Icons []struct {
			W, H int32
			Pix  []byte
		}
		Title, Text string
	}
	if v.Store(&tip) != nil {
		return ""
	}
	return strings.TrimSpace(tip.Title + " " + tip.Text)
}

// menuNode is a node of a menu on the bus.
type menuNode struct {
	ID       int32
	Props    map[string]dbus.Variant
	Children []dbus.Variant
}

// Menu is the menu of the newest icon, submenus flattened; nil when there is none.
func (h *Host) Menu() []MenuEntry {
	obj, ok := h.menuObject()
	if !ok {
		return nil
	}
	var rev uint32
	var root menuNode
	if err := obj.Call(menuIface+".GetLayout", 0, int32(0), int32(-1), []string{}).Store(&rev, &root); err != nil {
		return nil
	}
	return flatten(root)
}

// menuObject is where the menu of the newest icon lives.
func (h *Host) menuObject() (dbus.BusObject, bool) {
	it, ok := h.item()
	if !ok {
		return nil, false
	}
	v, err := h.c.Object(it.owner, it.path).GetProperty(itemIface + ".Menu")
	if err != nil {
		return nil, false
	}
	p, ok := v.Value().(dbus.ObjectPath)
	if !ok {
		return nil, false
	}
	return h.c.Object(it.owner, p), true
}

// flatten lists the entries below a node.
func flatten(n menuNode) []MenuEntry {
	var out []MenuEntry
	for _, v := range n.Children {
		var c menuNode
		if dbus.Store([]any{v.Value()}, &c) != nil {
			continue
		}
		e := MenuEntry{ID: c.ID, Enabled: true}
		e.Label, _ = c.Props["label"].Value().(string)
		if t, _ := c.Props["type"].Value().(string); t == "separator" {
			e.Separator = true
		}
		if on, ok := c.Props["enabled"].Value().(bool); ok {
			e.Enabled = on
		}
		if t, _ := c.Props["toggle-type"].Value().(string); t != "" {
			e.Checkable = true
		}
		if s, ok := c.Props["toggle-state"].Value().(int32); ok {
			e.Checked = s == 1
		}
		out = append(out, e)
		out = append(out, flatten(c)...)
	}
	return out
}

// Find is the first entry whose label contains part.
func (h *Host) Find(part string) (MenuEntry, bool) {
	for _, e := range h.Menu() {
		if !e.Separator && strings.Contains(e.Label, part) {
			return e, true
		}
	}
	return MenuEntry{}, false
}

// Click waits for an entry whose label contains part and clicks it.
func (h *Host) Click(part string) {
	h.r.t.Helper()
	var e MenuEntry
	h.r.Wait("the menu entry "+part, func() (ok bool) { e, ok = h.Find(part); return ok && e.Enabled })
	if err := h.click(e.ID); err != nil {
		h.r.t.Fatalf("click %q: %v", e.Label, err)
	}
}

func (h *Host) click(id int32) error {
	obj, ok := h.menuObject()
	if !ok {
		return fmt.Errorf("the icon is gone")
	}
	return obj.Call(menuIface+".Event", 0, id, "clicked", dbus.MakeVariant(int32(0)), uint32(time.Now().Unix())).Err
}

// Activate clicks the icon itself with the left button.
func (h *Host) Activate() error {
	it, ok := h.item()
	if !ok {
		return fmt.Errorf("there is no icon")
	}
	return h.c.Object(it.owner, it.path).Call(itemIface+".Activate", 0, int32(0), int32(0)).Err
}
