package popup

import (
	"context"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/theme"

	"perch/popup/look"
)

// catcher reads a key combination by being pressed. While it listens the global
// hotkey is paused, so that the old combination can be chosen again.
type catcher struct {
	button
	u     *ui
	held  map[fyne.KeyName]bool
	on    bool
	taken func(combo string)
}

var (
	_ fyne.Focusable  = (*catcher)(nil)
	_ desktop.Keyable = (*catcher)(nil)
)

func newCatcher(u *ui, taken func(string)) *catcher {
	c := &catcher{u: u, held: map[fyne.KeyName]bool{}, taken: taken}
	c.button = button{icon: "keys", word: u.p.t("popup.set.hotkey.press"), outline: true, color: theme.ColorNameForeground}
	c.button.tap = c.start
	c.ExtendBaseWidget(c)
	return c
}

func (c *catcher) start() {
	c.on = true
	clear(c.held)
	c.set("keys", c.u.p.t("popup.set.hotkey.listening"), look.Accent)
	c.u.p.win.Canvas().Focus(c)
	c.pause(true)
}

// stop ends listening.
func (c *catcher) stop() {
	if c.on {
		c.on = false
		c.set("keys", c.u.p.t("popup.set.hotkey.press"), theme.ColorNameForeground)
		c.pause(false)
	}
}

func (c *catcher) pause(on bool) {
	if c.u.p.svc.Desktop != nil {
		c.u.p.goes(func(ctx context.Context) { _, _ = c.u.p.svc.Desktop.PauseHotkey(ctx, on) })
	}
}

// FocusGained does nothing.
func (c *catcher) FocusGained() {}

// FocusLost ends listening.
func (c *catcher) FocusLost() { c.stop() }

// TypedRune is not what is listened for.
func (c *catcher) TypedRune(rune) {}

// TypedKey ends listening on Esc.
func (c *catcher) TypedKey(k *fyne.KeyEvent) {
	if !c.on && k.Name == fyne.KeyEscape {
		c.u.p.escape()
	}
}

// KeyDown takes the combination once a key beside the modifiers is pressed.
func (c *catcher) KeyDown(k *fyne.KeyEvent) {
	if !c.on {
		return
	}
	if modifierWord[k.Name] != "" {
		c.held[k.Name] = true
		return
	}
	if k.Name == fyne.KeyEscape && len(c.held) == 0 {
		c.stop()
		return
	}
	if combo := combination(c.held, k.Name); combo != "" {
		c.on = false
		c.set("keys", combo, theme.ColorNameForeground)
		c.taken(combo)
	}
}

// KeyUp forgets a modifier that was let go.
func (c *catcher) KeyUp(k *fyne.KeyEvent) { delete(c.held, k.Name) }

var modifierWord = map[fyne.KeyName]string{
	desktop.KeyControlLeft: "ctrl", desktop.KeyControlRight: "ctrl", desktop.KeyShiftLeft: "shift", desktop.KeyShiftRight: "shift",
	desktop.KeyAltLeft: "alt", desktop.KeyAltRight: "alt", desktop.KeySuperLeft: "super", desktop.KeySuperRight: "super",
}

// keyWords are the names that config.toml uses where they differ from the
// toolkit's in lower case.
var keyWords = map[fyne.KeyName]string{
	fyne.KeyReturn: "enter", fyne.KeyEnter: "enter", fyne.KeyPageUp: "pageup", fyne.KeyPageDown: "pagedown", fyne.KeyBackTick: "grave",
}

// combination writes a chord as config.toml has it, "" for one that would take a
// plain key away from every program.
func combination(held map[fyne.KeyName]bool, key fyne.KeyName) string {
	has := map[string]bool{}
	for k := range held {
		has[modifierWord[k]] = true
	}
	var parts []string
	for _, m := range []string{"ctrl", "shift", "alt", "super"} {
		if has[m] {
			parts = append(parts, m)
		}
	}
	function := len(key) > 1 && key[0] == 'F' && key[1] >= '1' && key[1] <= '9'
	if len(parts) == 0 && !function || len(parts) == 1 && parts[0] == "shift" && !function {
		return ""
	}
	word := keyWords[key]
	if word == "" {
		word = strings.ToLower(string(key))
	}
	return strings.Join(append(parts, word), "+")
}
