package popuptest

import (
	"encoding/json"
	"time"

	"perch/chat"
	"perch/control"
)

// Answer is an answer with everything in it that the view can draw.
const Answer = `A popup belongs where you are looking. Perch takes the screen **with the focus** and opens in its *upper third*:

1. find the focused window's screen, or the pointer's
2. keep clear of panels at every scale
3. raise above the rest and take the keyboard

` + "```go" + `
// On returns the top left corner for a window of w by h pixels.
func On(d Desktop, w, h int) Point {
	area := ScreenOf(d)
	return Point{
		X: area.X + (area.W-w)/2,
		Y: area.Y + area.H/6, // the upper third
	}
}
` + "```" + `

| screen | scale | placed at |
|:-------|:-----:|----------:|
| eDP-1  | 2     | 1280, 360 |
| DP-2   | 1     | 2880, 240 |

- [x] X11, with and without a compositor
- [ ] your desktop? Try ` + "`perch doctor`" + `

More in the [manual](https://example.org/perch).
`

// Scripts is an answer in many scripts.
const Scripts = `**中文** 弹窗会出现在当前屏幕的上三分之一处，按 Esc 即可收起。

**日本語** ウィンドウは今お使いの画面の上三分の一に開きます。

**한국어** 창은 지금 보고 있는 화면의 위쪽 3분의 1에 열립니다.

**Русский** Окно открывается в верхней трети текущего экрана.

**Ελληνικά** και *Tiếng Việt*, with emoji: 🐦 🌿 ✅ 🎉 👍🏽 ❤️

> 引用：“好的工具不打扰人。”
`

// Demo is a backend with sessions, models and a script that asks for a
// permission, as the pictures show them.
func Demo() *Backend {
	b := New()
	now := time.Now()
	b.Add(control.SessionView{SessionInfo: control.SessionInfo{ID: "demo-1", Title: "Where the popup opens", Used: now.Add(-4 * time.Minute), Pinned: true}, History: []chat.Message{
		user("m1", "Where does the popup open, and why there?"),
		{ID: "m2", Role: chat.RoleAssistant, Provider: "anthropic", Model: "claude-sonnet-4-6", Parts: []chat.Part{
			{Type: chat.PartThinking, Text: "The user asks about placement. Let me look at the function that decides it."},
			{Type: chat.PartCall, Call: &chat.ToolCall{ID: "c1", Name: "read_file", Input: `{"path":"~/src/perch/popup/place/place.go"}`}},
		}},
		{ID: "m3", Role: chat.RoleTool, Result: &chat.ToolResult{CallID: "c1", Name: "read_file", Text: "package place", Duration: 12 * time.Millisecond}},
		answer("m4", Answer),
	}})
	b.Add(control.SessionView{SessionInfo: control.SessionInfo{ID: "demo-2", Title: "Scripts and emoji", Used: now.Add(-40 * time.Minute)}, History: []chat.Message{
		user("n1", "Say it in other scripts. 用别的文字说一遍。"), answer("n2", Scripts),
	}})
	for i, s := range []struct {
		title string
		ago   time.Duration
		act   control.Activity
	}{
		{"Rename 240 photos by date", 90 * time.Minute, control.Running}, {"Why is the build slow?", 26 * time.Hour, control.Done},
		{"Letter to the landlord", 28 * time.Hour, control.Idle}, {"Regular expression for IBANs", 5 * 24 * time.Hour, control.Idle}, {"购物清单", 20 * 24 * time.Hour, control.Idle},
	} {
		b.Add(control.SessionView{SessionInfo: control.SessionInfo{ID: "demo-x" + string(rune('a'+i)), Title: s.title, Used: now.Add(-s.ago), Activity: s.act}, History: []chat.Message{user("x"+s.title, s.title), answer("y"+s.title, "Done.")}})
	}
	b.Script = func(control.Ask) []Step {
		steps := Text("I will look at what is there first.\n\n")
		in, err := json.Marshal(map[string]string{"command": "find ~/Pictures -name '*.jpg' -newer ~/.stamp | head -50"})
		if err != nil {
			return steps
		}
		steps = append(steps,
			Step{Event: &chat.ToolStart{ID: "k1", Name: "run_command", Input: in}},
			Step{Event: &chat.Permission{ID: "k1", Name: "run_command", Need: chat.NeedExecute, Detail: "find ~/Pictures -name '*.jpg' -newer ~/.stamp | head -50"}, Ask: "k1"},
			Step{Event: &chat.ToolEnd{ID: "k1", Name: "run_command", Result: "Pictures/2026/a.jpg\nPictures/2026/b.jpg", Duration: 640 * time.Millisecond}},
		)
		return append(steps, Text("Two pictures are newer:\n\n- `a.jpg`\n- `b.jpg`\n")...)
	}
	b.FoundList = []control.Found{
		{Kind: "server", Provider: "ollama", Model: "ollama/qwen3:8b", Detail: "http://127.0.0.1:11434"},
		{Kind: "key", Provider: "anthropic", Model: "anthropic/claude-sonnet-4-6", Detail: "ANTHROPIC_API_KEY"},
	}
	b.Auths = []control.AuthStatus{{Provider: "anthropic", Kind: "key", Place: "keyring"}, {Provider: "openai"}}
	b.memory = control.MemoryView{
		Profile: control.MemoryPart{Entries: []control.MemoryEntry{{Text: "Writes Go; prefers short answers."}}, Used: 33, Limit: 3000},
		Notes:   control.MemoryPart{Entries: []control.MemoryEntry{{Text: "Photos are named by date: 2026-01-31-003.jpg."}}, Used: 45, Limit: 3000},
	}
	b.kb = control.KBStatus{Documents: 412, Chunks: 5120, Folders: []control.KBFolder{{Path: "/home/ada/notes", Documents: 398, Chunks: 4980, Skipped: 3, Indexed: now}}}
	b.rules = []control.Rule{{ID: "r1", Tool: "run_command", Kind: chat.NeedExecute, Subject: "git status", Created: now}}
	return b
}

func user(id, text string) chat.Message {
	m := chat.UserText(text)
	m.ID = id
	return m
}

func answer(id, text string) chat.Message {
	return chat.Message{ID: id, Role: chat.RoleAssistant, Provider: "anthropic", Model: "claude-sonnet-4-6", Parts: []chat.Part{chat.Text(text)}}
}
