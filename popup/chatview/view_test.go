package chatview

import (
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"perch/chat"
	"perch/control"
	"perch/popup/look"
	"perch/popup/transcript"
)

const sample = "# Placing a window\n\nThe popup is placed by **one pure function**, `placeOn`, which takes *all* screens and ~~guesses~~ decides. See [the docs](https://example.org/docs) or https://example.org.\n\n" +
	"1. find the screen with the focus\n2. take its upper third\n   - at every scale\n   - never beyond the edge\n3. done\n\n" +
	"- [x] X11\n- [ ] Wayland\n\n> A window that asks is a window that waits.\n\n" +
	"```go\n// placeOn returns the top left corner.\nfunc placeOn(screens []Rect, focus Point) Point {\n\tfor i, s := range screens {\n\t\tif s.Contains(focus) {\n\t\t\treturn s.Upper(0.33) // 33 %\n\t\t}\n\t}\n\treturn Point{X: 0, Y: 42}\n}\n```\n\n" +
	"| screen | scale | placed |\n|:-------|:-----:|-------:|\n| eDP-1 | 2 | 640, 320 |\n| DP-2 | 1 | 2240, 280 |\n\n## Then\n\nInline mathematics like $E = mc^2$ reads as text.\n\n$$\nx^2 = \\frac{a+b}{2}\n$$\n\nThe end."

// show builds a view of a transcript in a window of a fixed size.
func show(t testing.TB, tr *transcript.Transcript, w, h float32) (*View, fyne.Window) {
	t.Helper()
	v := New(testActions())
	win := test.NewWindow(v)
	t.Cleanup(win.Close)
	win.SetPadded(false)
	win.Resize(fyne.NewSize(w, h))
	v.Update(tr.Rows(), transcript.Change{})
	return v, win
}

func testActions() Actions {
	words := map[string]string{"popup.copy": "Copy", "popup.code": "text", "popup.thought": "Thought for {0} words", "popup.fork": "Fork",
		"popup.regenerate": "Again", "popup.interrupted": "Stopped here.", "popup.undo": "Undo", "popup.compacted": "Compacted: {0} to {1} tokens", "popup.tool.asking": "waits for you"}
	return Actions{
		Text: func(id string, args ...any) string {
			s, ok := words[id]
			if !ok {
				return id
			}
			for i, a := range args {
				s = strings.ReplaceAll(s, fmt.Sprintf("{%d}", i), fmt.Sprint(a))
			}
			return s
		},
		Copy: func(string) {}, Toggle: func(string) {}, Fork: func(string) {}, Regenerate: func(transcript.Foot) {}, Edit: func(string, string) {}, UndoCompaction: func() {},
	}
}

func session() control.SessionView {
	return control.SessionView{
		SessionInfo: control.SessionInfo{ID: "s"},
		History: []chat.Message{
			{ID: "m1", Role: chat.RoleUser, Parts: []chat.Part{chat.Text("Where does the popup open, and why there?")}},
			{ID: "m2", Role: chat.RoleAssistant, Provider: "anthropic", Model: "claude-sonnet", Parts: []chat.Part{
				{Type: chat.PartThinking, Text: "let me see"},
				{Type: chat.PartCall, Call: &chat.ToolCall{ID: "c1", Name: "read_file", Input: `{"path":"/home/ada/src/place.go"}`}},
			}},
			{ID: "m3", Role: chat.RoleTool, Result: &chat.ToolResult{CallID: "c1", Text: "content", Duration: 21 * time.Millisecond}},
			{ID: "m5", Role: chat.RoleAssistant, Provider: "anthropic", Model: "claude-sonnet", Parts: []chat.Part{chat.Text(sample)}},
		},
	}
}

func useTheme(t testing.TB, variant string) {
	t.Helper()
	app := test.NewTempApp(t)
	app.Settings().SetTheme(look.Theme{Variant: variant})
}

func TestPicture(t *testing.T) {
	dir := os.Getenv("PERCH_PICTURES")
	if dir == "" {
		t.Skip("set PERCH_PICTURES to a folder to get pictures of the view")
	}
	for _, variant := range []string{"light", "dark"} {
		useTheme(t, variant)
		tr := transcript.New()
		tr.Reset(control.Snapshot{View: session()})
		tr.Toggle("c1")
		_, win := show(t, tr, 620, 1150)
		f, err := os.Create(filepath.Join(dir, "chat-"+variant+".png"))
		if err != nil {
			t.Fatal(err)
		}
		if err := png.Encode(f, win.Canvas().Capture()); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
}
