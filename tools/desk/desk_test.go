package desk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"perch/chat"
	"perch/control"
	"perch/tools/places"
	"perch/tools/toolstest"
)

// fakeDesktop holds one clipboard, one selection and one screen.
type fakeDesktop struct {
	clip, selection control.Clip
	screen          []byte
	shot            control.Shot
	err             error
}

func (f *fakeDesktop) ReadClipboard(context.Context) (control.Clip, error) { return f.clip, f.err }
func (f *fakeDesktop) ReadSelection(context.Context) (control.Clip, error) { return f.selection, f.err }
func (f *fakeDesktop) WriteClipboard(_ context.Context, c control.Clip) error {
	f.clip = c
	return f.err
}
func (f *fakeDesktop) Screenshot(_ context.Context, s control.Shot) ([]byte, error) {
	f.shot = s
	return f.screen, f.err
}

func somePNG(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewRGBA(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestDesktopThingsAreAskedAboutUnlessAttached(t *testing.T) {
	d := &fakeDesktop{}
	for _, c := range []struct {
		tool           chat.Tool
		input, subject string
	}{
		{ReadClipboard(d), `{}`, SubjectRead},
		{ReadClipboard(d), `{"source":"selection"}`, SubjectRead},
		{WriteClipboard(d, nil), `{"text":"x"}`, SubjectWrite},
		{TakeScreenshot(d), `{}`, SubjectScreenshot},
		{TakeScreenshot(d), `{"what":"region","x":1,"y":2,"width":3,"height":4}`, SubjectScreenshot},
	} {
		env := toolstest.NewEnv(t)
		n := toolstest.Needs(t, c.tool, c.input, env)
		if len(n) != 1 || n[0].Kind != chat.NeedDesktop || n[0].Subject != c.subject || n[0].Free || n[0].Detail == "" {
			t.Errorf("%s %s: needs %+v", c.tool.Definition().Name, c.input, n)
		}
		env.Allow(chat.NeedDesktop, c.subject)
		if n := toolstest.Needs(t, c.tool, c.input, env); !n[0].Free {
			t.Errorf("%s: asked about what the user attached", c.tool.Definition().Name)
		}
	}
}

func TestReadClipboardReturnsTextAndImage(t *testing.T) {
	pic := somePNG(t)
	for _, c := range []struct {
		name   string
		clip   control.Clip
		text   string
		images int
	}{
		{"text", control.Clip{Text: "hello"}, "<outside source=\"clipboard\">\nhello\n</outside>", 0},
		{"image", control.Clip{PNG: pic}, "image", 1},
		{"both", control.Clip{Text: "cell", PNG: pic}, "cell", 1},
		{"nothing", control.Clip{}, "empty", 0},
		{"broken image", control.Clip{PNG: []byte("\x89PNG broken")}, "cannot be read", 0},
		{"huge image", control.Clip{PNG: append(append([]byte(nil), pic...), make([]byte, maxPicture)...)}, "too large", 0},
		{"broken text", control.Clip{Text: "a\x00\xffb"}, "a\uFFFDb", 0},
	} {
		r := toolstest.Run(t, ReadClipboard(&fakeDesktop{clip: c.clip}), `{}`, toolstest.NewEnv(t))
		if !strings.Contains(r.Text, c.text) || len(r.Images) != c.images {
			t.Errorf("%s: %q with %d images", c.name, r.Text, len(r.Images))
		}
	}
}

func TestWithoutADesktopTheToolsSaySo(t *testing.T) {
	env := toolstest.NewEnv(t)
	for name, input := range map[string]string{"read_clipboard": `{"source":"selection"}`, "write_clipboard": `{"text":"x"}`, "take_screenshot": `{}`} {
		for _, tool := range Tools(nil, nil) {
			if tool.Definition().Name != name {
				continue
			}
			if _, err := tool.Execute(context.Background(), json.RawMessage(input), env); !errors.Is(err, errNoDesktop) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestReadClipboardShortensHugeTextAndKeepsItWhole(t *testing.T) {
	env := toolstest.NewEnv(t)
	text := strings.Repeat("line of a log\n", 100_000)
	r := toolstest.Run(t, ReadClipboard(&fakeDesktop{clip: control.Clip{Text: text}}), `{}`, env)
	if len(r.Text) > 32_000 {
		t.Errorf("the result has %d bytes", len(r.Text))
	}
	files, _ := filepath.Glob(filepath.Join(env.Spool, "clipboard-*"))
	if len(files) != 1 {
		t.Fatalf("spool files: %v", files)
	}
	if b, _ := os.ReadFile(files[0]); string(b) != text {
		t.Error("the spool file is not whole")
	}
}

func TestSelectionIsReadWithoutTheClipboard(t *testing.T) {
	d := &fakeDesktop{clip: control.Clip{Text: "copied"}, selection: control.Clip{Text: "selected"}}
	r := toolstest.Run(t, ReadClipboard(d), `{"source":"selection"}`, toolstest.NewEnv(t))
	if !strings.Contains(r.Text, "selected") || strings.Contains(r.Text, "copied") {
		t.Errorf("got %q", r.Text)
	}
}

func TestWriteClipboardTakesTextOrImageFile(t *testing.T) {
	env := toolstest.NewEnv(t)
	d := &fakeDesktop{}
	toolstest.Run(t, WriteClipboard(d, nil), `{"text":"копия"}`, env)
	if d.clip.Text != "копия" {
		t.Errorf("clipboard %+v", d.clip)
	}
	pic := somePNG(t)
	if err := os.WriteFile(filepath.Join(env.WorkDir, "a.png"), pic, 0o600); err != nil {
		t.Fatal(err)
	}
	toolstest.Run(t, WriteClipboard(d, nil), `{"image":"a.png"}`, env)
	if !bytes.Equal(d.clip.PNG, pic) {
		t.Error("the PNG was changed on its way")
	}
	var j bytes.Buffer
	if err := jpeg.Encode(&j, image.NewRGBA(image.Rect(0, 0, 5, 4)), nil); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(env.WorkDir, "b.jpg"), j.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	toolstest.Run(t, WriteClipboard(d, nil), `{"image":"b.jpg"}`, env)
	if c, err := png.DecodeConfig(bytes.NewReader(d.clip.PNG)); err != nil || c.Width != 5 {
		t.Errorf("the JPEG did not arrive as PNG: %v", err)
	}
	for _, bad := range []string{`{}`, `{"text":"a","image":"a.png"}`, `{"image":"missing.png"}`, `{"image":"."}`} {
		if _, err := WriteClipboard(d, nil).Execute(context.Background(), json.RawMessage(bad), env); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

func TestWriteClipboardReadsNoFileOutsideWithoutPermission(t *testing.T) {
	env := toolstest.NewEnv(t)
	secret := filepath.Join(t.TempDir(), "secret.png")
	if err := os.WriteFile(secret, somePNG(t), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(env.WorkDir, "link.png")); err != nil {
		t.Fatal(err)
	}
	tool := WriteClipboard(&fakeDesktop{}, nil)
	input := `{"image":"link.png"}`
	n := toolstest.Needs(t, tool, input, env)
	if len(n) != 2 || n[1].Kind != chat.NeedRead || n[1].Free {
		t.Fatalf("needs %+v", n)
	}
	if _, err := tool.Execute(context.Background(), json.RawMessage(input), env); err == nil {
		t.Error("a file outside the working folder was read through a link")
	}
	env.Allow(chat.NeedRead, n[1].Subject)
	toolstest.Run(t, tool, input, env)

	home := filepath.Dir(secret)
	if err := os.Mkdir(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".ssh", "key.png"), somePNG(t), 0o600); err != nil {
		t.Fatal(err)
	}
	env = toolstest.NewEnv(t)
	env.WorkDir = home
	tool = WriteClipboard(&fakeDesktop{}, places.New(home))
	if n := toolstest.Needs(t, tool, `{"image":".ssh/key.png"}`, env); n[1].Free || !n[1].Secret {
		t.Errorf("a secret place inside the working folder: %+v", n)
	}
}

func TestScreenshotChecksWhatTheDesktopReturns(t *testing.T) {
	env := toolstest.NewEnv(t)
	d := &fakeDesktop{screen: somePNG(t)}
	r := toolstest.Run(t, TakeScreenshot(d), `{"what":"region","x":-10,"y":2,"width":3,"height":4}`, env)
	if len(r.Images) != 1 || d.shot.Rect != [4]int{-10, 2, 3, 4} || !strings.Contains(r.Text, "3 × 2") {
		t.Errorf("%+v, shot %+v", r.Text, d.shot)
	}
	d.screen = []byte("no picture")
	if _, err := TakeScreenshot(d).Execute(context.Background(), json.RawMessage(`{}`), env); err == nil {
		t.Error("garbage was passed on as a picture")
	}
	d.err = errors.New("no display; start Perch inside a desktop session")
	if _, err := TakeScreenshot(d).Execute(context.Background(), json.RawMessage(`{}`), env); err == nil || !strings.Contains(err.Error(), "no display") {
		t.Errorf("error %v", err)
	}
	if _, err := TakeScreenshot(d).Execute(context.Background(), json.RawMessage(`{"what":"region"}`), env); err == nil {
		t.Error("a region without a size was accepted")
	}
}

type fakeGenerator struct {
	size string
	data []byte
	err  error
}

func (f *fakeGenerator) Generate(_ context.Context, _, size string) ([]byte, error) {
	f.size = size
	return f.data, f.err
}

func TestGenerateImageIsAskedOnceASessionAndKept(t *testing.T) {
	env := toolstest.NewEnv(t)
	g := &fakeGenerator{data: somePNG(t)}
	tool := GenerateImage(g)
	n := toolstest.Needs(t, tool, `{"prompt":"a perch"}`, env)
	if len(n) != 1 || n[0].Kind != chat.NeedOther || !n[0].Once || n[0].Free || n[0].Detail != "a perch" {
		t.Errorf("needs %+v", n)
	}
	r := toolstest.Run(t, tool, `{"prompt":"a perch"}`, env)
	if g.size != defaultSize || len(r.Images) != 1 || r.Images[0].MIME != "image/png" {
		t.Errorf("size %s, %d images", g.size, len(r.Images))
	}
	if files, _ := filepath.Glob(filepath.Join(env.Spool, "image-*.png")); len(files) != 1 {
		t.Errorf("kept files: %v", files)
	}
	g.data = []byte("{\"error\":1}")
	if _, err := tool.Execute(context.Background(), json.RawMessage(`{"prompt":"x"}`), env); err == nil {
		t.Error("an answer that is no image was accepted")
	}
}

func TestSchemasAreObjects(t *testing.T) {
	d := &fakeDesktop{}
	for _, tool := range append(Tools(d, nil), GenerateImage(&fakeGenerator{})) {
		var s struct{ Type string }
		if err := json.Unmarshal(tool.Definition().Schema, &s); err != nil || s.Type != "object" {
			t.Errorf("%s: schema %v %v", tool.Definition().Name, s, err)
		}
	}
}
