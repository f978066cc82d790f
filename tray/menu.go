package tray

import (
	"strings"
	"time"
	"unicode/utf8"

	"perch/assets"
	"perch/control"
	"perch/tray/desktop"
	"perch/tray/hotkey"
)

// Actions of the menu.
const (
	actAsk       = "ask"
	actNew       = "new"
	actSession   = "session"
	actAll       = "all"
	actKnowledge = "knowledge"
	actSettings  = "settings"
	actPause     = "pause"
	actLogin     = "login"
	actQuit      = "quit"
)

const (
	// recentSessions is how many sessions the menu lists.
	recentSessions = 10
	// maxTitle is the longest title in the menu, in characters: longer ones make
	// menus wider than a small screen.
	maxTitle = 48
	// appName is the program's name where it is no part of a sentence.
	appName = "Perch"
)

// loginState is whether Perch starts at login.
type loginState struct {
	possible, on bool
}

// menuOf is the tray's icon and menu for a state, whole.
func menuOf(st control.State, login loginState, texts *assets.Texts, now time.Time) desktop.Menu {
	m := desktop.Menu{Name: appName, Icon: iconOf(st)}
	m.ToolTip = toolTip(st, texts)
	sep := desktop.Entry{Separator: true}
	m.Entries = []desktop.Entry{
		{Label: askLabel(st.Hotkey, texts), Action: actAsk},
		{Label: texts.T("tray.new_session"), Action: actNew},
		sep,
	}
	n := 0
	for _, s := range st.Recent {
		if n == recentSessions {
			break
		}
		n++
		m.Entries = append(m.Entries, desktop.Entry{Label: sessionLabel(s, texts, now), Action: actSession, Arg: s.ID})
	}
	if n == 0 {
		m.Entries = append(m.Entries, desktop.Entry{Label: texts.T("tray.no_sessions"), Disabled: true})
	}
	m.Entries = append(m.Entries,
		desktop.Entry{Label: texts.T("tray.all_sessions"), Action: actAll},
		sep,
		desktop.Entry{Label: texts.T("tray.knowledge"), Action: actKnowledge},
		desktop.Entry{Label: texts.T("tray.settings"), Action: actSettings},
		desktop.Entry{Label: texts.T("tray.pause_hotkey"), Action: actPause, Checkable: true,
			Checked: st.Hotkey.Paused, Disabled: st.Hotkey.Combo == ""},
	)
	if login.possible {
		m.Entries = append(m.Entries, desktop.Entry{Label: texts.T("tray.start_at_login"), Action: actLogin, Checkable: true, Checked: login.on})
	}
	m.Entries = append(m.Entries, sep, desktop.Entry{Label: texts.T("tray.quit"), Action: actQuit})
	for i := range m.Entries {
		m.Entries[i].Label = menuText(m.Entries[i].Label)
	}
	return m
}

// iconOf is the icon for a state.
func iconOf(st control.State) desktop.Icon {
	switch st.Activity {
	case control.Waiting:
		return desktop.IconWaiting
	case control.Running:
		return desktop.IconBusy
	case control.Failed:
		return desktop.IconError
	}
	if st.Hotkey.Problem != "" && !st.Hotkey.Paused {
		return desktop.IconError
	}
	return desktop.IconIdle
}

// toolTip says what the icon shows, and what is wrong.
func toolTip(st control.State, texts *assets.Texts) string {
	tip := texts.T("tray.tip_" + string(iconOf(control.State{Activity: st.Activity})))
	if st.Hotkey.Problem != "" && !st.Hotkey.Paused {
		tip += "\n" + st.Hotkey.Problem
	}
	return tip
}

// askLabel names the hotkey that does the same, where it works.
func askLabel(h control.HotkeyState, texts *assets.Texts) string {
	c, err := hotkey.Parse(h.Combo)
	if err != nil || h.Combo == "" || !h.Active || h.Paused {
		return texts.T("tray.ask")
	}
	return texts.T("tray.ask_hotkey", c.Label())
}

// sessionLabel is a session by title and age, with a mark for what it does.
func sessionLabel(s control.SessionInfo, texts *assets.Texts, now time.Time) string {
	title := shorten(oneLine(s.Title), maxTitle)
	if title == "" {
		title = texts.T("tray.untitled")
	}
	label := title + " · " + age(now.Sub(s.Used), texts)
	if mark := marks[s.Activity]; mark != "" {
		label = mark + " " + label
	}
	return label
}

// marks are signs for what a session does, which every panel font has.
var marks = map[control.Activity]string{control.Running: "▶", control.Waiting: "?", control.Done: "✓", control.Failed: "!"}

// age is how long ago something was, in one word or two.
func age(d time.Duration, texts *assets.Texts) string {
	switch {
	case d < time.Minute:
		return texts.T("age.now")
	case d < time.Hour:
		return texts.T("age.minutes", int(d/time.Minute))
	case d < 24*time.Hour:
		return texts.T("age.hours", int(d/time.Hour))
	}
	return texts.T("age.days", int(d/(24*time.Hour)))
}

// untilOlder is how long the menu's ages stay right: until the first of them is
// a minute, an hour or a day more. Panels do not say reliably that their menu is
// being opened, and an old menu would be wrong by hours.
func untilOlder(recent []control.SessionInfo, now time.Time) time.Duration {
	least := 24 * time.Hour
	for i, s := range recent {
		if i == recentSessions {
			break
		}
		d := max(now.Sub(s.Used), 0)
		unit := time.Minute
		switch {
		case d >= 24*time.Hour:
			unit = 24 * time.Hour
		case d >= time.Hour:
			unit = time.Hour
		}
		least = min(least, unit-d%unit)
	}
	return least
}

// menuText is a text as a menu label: an underscore would underline the letter
// after it.
func menuText(s string) string { return strings.ReplaceAll(s, "_", "__") }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// shorten cuts a text to n characters.
func shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	return strings.TrimSpace(string(r[:n-1])) + "…"
}
