package hotkey

import (
	"strings"
	"testing"
	"time"

	"perch/chat"
)

func TestCombinationsAreReadByTheirNames(t *testing.T) {
	for in, want := range map[string]struct {
		out    string
		mask   uint32
		sym    uint32
		portal string
	}{
		"ctrl+shift+space":  {"ctrl+shift+space", 1<<2 | 1<<0, 0x20, "CTRL+SHIFT+space"},
		" Shift + CTRL + A": {"ctrl+shift+a", 1<<2 | 1<<0, 'a', "CTRL+SHIFT+a"},
		"alt+F2":            {"alt+f2", 1 << 3, 0xffbf, "ALT+F2"},
		"win+esc":           {"super+escape", 1 << 6, 0xff1b, "LOGO+Escape"},
		"f12":               {"f12", 0, 0xffc9, "F12"},
		"super+PgDn":        {"super+pagedown", 1 << 6, 0xff56, "LOGO+Page_Down"},
		"ctrl+=":            {"ctrl+equal", 1 << 2, 0x3d, "CTRL+equal"},
		"shift+print":       {"shift+print", 1, 0xff61, "SHIFT+Print"},
		"":                  {"", 0, 0, ""},
	} {
		c, err := Parse(in)
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if c.String() != want.out || c.X11Mods() != want.mask || c.Keysym() != want.sym || c.PortalTrigger() != want.portal {
			t.Errorf("%q: %q mask %#x keysym %#x portal %q", in, c.String(), c.X11Mods(), c.Keysym(), c.PortalTrigger())
		}
		again, err := Parse(c.String())
		if err != nil || again != c {
			t.Errorf("%q is read back as %v, %v", c.String(), again, err)
		}
	}
	if c, _ := Parse("ctrl+shift+space"); c.Label() != "Ctrl+Shift+Space" {
		t.Errorf("label %q", c.Label())
	}
}

func TestBadCombinationNamesItsBadPart(t *testing.T) {
	for in, want := range map[string]struct{ id, part string }{
		"ctrl+shift+spcae": {"err.hotkey_unknown_key", "spcae"},
		"hyper+a":          {"err.hotkey_unknown_key", "hyper"},
		"ctrl+a+b":         {"err.hotkey_two_keys", `"a" and "b"`},
		"ctrl+shift":       {"err.hotkey_no_key", "ctrl+shift"},
		"ctrl++a":          {"err.hotkey_empty_part", "ctrl++a"},
		"shift+a":          {"err.hotkey_types", "shift+a"},
		"space":            {"err.hotkey_types", "space"},
	} {
		_, err := Parse(in)
		e := chat.AsError(err)
		if e == nil || e.ID != want.id || !strings.Contains(e.Message, want.part) {
			t.Errorf("%q: %v, want %s naming %s", in, err, want.id, want.part)
		}
	}
}

func TestOnePressIsOneToggle(t *testing.T) {
	d, u := func(at int) ev { return ev{at, true} }, func(at int) ev { return ev{at, false} }
	held := []ev{d(0)}
	for at := 660; at < 2600; at += 40 {
		held = append(held, u(at), d(at+1))
	}
	swapped := []ev{d(0)}
	for at := 660; at < 2600; at += 40 {
		swapped = append(swapped, d(at), u(at))
	}
	for name, c := range map[string]struct {
		events []ev
		want   int
	}{
		"press and release":                {[]ev{d(0), u(80)}, 1},
		"two presses":                      {[]ev{d(0), u(80), d(400), u(480)}, 2},
		"three downs of one chord":         {[]ev{d(0), d(12), d(25), u(40)}, 1},
		"bouncing contact":                 {[]ev{d(0), u(5), d(10), u(60)}, 1},
		"held for two seconds":             {append(held, u(2700)), 1},
		"held, events in the wrong order":  {append(swapped, u(2700)), 1},
		"held, then pressed again":         {append(append([]ev{}, held...), u(2700), d(3000)), 2},
		"the release was lost":             {[]ev{d(0), d(5000)}, 2},
		"a press soon after a long hold":   {append(append([]ev{}, held...), u(2700), d(2750)), 1},
		"ten presses, one every 200 ms":    {many(10, 200, 40), 10},
		"a tap told in the wrong order":    {[]ev{u(0), d(1)}, 1},
		"taps told in the wrong order":     {[]ev{u(0), d(1), u(300), d(301), d(600), u(601), u(900), d(900)}, 4},
		"slow repeat in the wrong order":   {[]ev{d(0), d(600), u(601), d(850), u(851), u(1100), d(1101), d(1350), u(1351), u(1500)}, 1},
		"the release came before anything": {[]ev{u(0), d(500)}, 1},
	} {
		var p Presses
		start, n := time.Unix(1000, 0), 0
		for _, e := range c.events {
			at := start.Add(time.Duration(e.at) * time.Millisecond)
			if !e.down {
				p.Up(at)
			} else if p.Down(at) {
				n++
			}
		}
		if n != c.want {
			t.Errorf("%s: %d toggles, want %d", name, n, c.want)
		}
	}
}

// ev is a key going down or up, in milliseconds.
type ev struct {
	at   int
	down bool
}

// many are n presses.
func many(n, every, hold int) []ev {
	var out []ev
	for i := range n {
		out = append(out, ev{i * every, true}, ev{i*every + hold, false})
	}
	return out
}

func TestArgumentsKeepNamesWithEquals(t *testing.T) {
	bs := []Binding{{ID: Toggle, Combo: "ctrl+space"}, {ID: PromptID("a=b"), Combo: "alt+f1"}}
	got := ParseArgs(Args(bs))
	if len(got) != 2 || got[0] != bs[0] || got[1] != bs[1] {
		t.Errorf("got %+v", got)
	}
	if g := ParseArgs([]string{"ctrl+space"}); len(g) != 1 || g[0].ID != Toggle || g[0].Combo != "ctrl+space" {
		t.Errorf("bare combination: %+v", g)
	}
}
