package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"

	"perch/chat"
	"perch/tools/places"
	"perch/tools/toolstest"
)

// desk is a working folder inside a home, with the file tools.
type desk struct {
	*toolstest.Env
	t    *testing.T
	home string
	set  Set
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	env := toolstest.NewEnv(t)
	env.WorkDir = filepath.Join(home, "work")
	d := &desk{Env: env, t: t, home: home, set: Set{}}
	extract := func(_ context.Context, path string) (string, error) {
		if strings.Contains(path, "broken") {
			return "", errors.New("it is damaged")
		}
		return "text of " + filepath.Base(path) + "\n", nil
	}
	if err := d.set.Add(Files(places.New(home, filepath.Join(home, "perch")), extract)...); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{env.WorkDir, filepath.Join(home, ".ssh")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	d.put("../.ssh/id", "planted-secret")
	return d
}

// put writes a file of the working folder.
func (d *desk) put(name, text string) string {
	d.t.Helper()
	p := filepath.Join(d.WorkDir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
	return p
}

func (d *desk) get(name string) string {
	d.t.Helper()
	b, err := os.ReadFile(filepath.Join(d.WorkDir, name))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(b)
}

// call runs a tool as the runner does: schema, needs, execute.
func (d *desk) call(tool string, input map[string]any) (chat.ToolResult, error) {
	d.t.Helper()
	raw, err := json.Marshal(input)
	if err != nil {
		d.t.Fatal(err)
	}
	tl, ok := d.set.Get(tool)
	if !ok {
		d.t.Fatalf("no tool %s", tool)
	}
	if err := Validate(tl.Definition(), raw); err != nil {
		d.t.Fatalf("%s %s: %v", tool, raw, err)
	}
	if _, err := tl.(chat.Needer).Needs(context.Background(), raw, d); err != nil {
		return chat.ToolResult{}, err
	}
	return tl.Execute(context.Background(), raw, d)
}

func (d *desk) must(tool string, input map[string]any) string {
	d.t.Helper()
	r, err := d.call(tool, input)
	if err != nil {
		d.t.Fatalf("%s %v: %v", tool, input, err)
	}
	return body(r.Text)
}

// body takes the mark of outside text away.
func body(s string) string {
	if !strings.HasPrefix(s, "<outside ") {
		return s
	}
	_, s, _ = strings.Cut(s, "\n")
	return strings.TrimSuffix(s, "\n</outside>")
}

func (d *desk) wantErr(want, tool string, input map[string]any) {
	d.t.Helper()
	if r, err := d.call(tool, input); err == nil || !strings.Contains(err.Error(), want) {
		d.t.Errorf("%s %v: got %q, %v; want an error with %q", tool, input, r.Text, err, want)
	}
}

type m = map[string]any

func TestReadFileShowsLines(t *testing.T) {
	d := newDesk(t)
	d.put("a.txt", "one\ntwo\nthree\nfour\n")
	d.put("crlf.txt", "one\r\ntwo\r\n")
	d.put("none.txt", "")
	d.put("long.txt", strings.Repeat("x", 9000)+"\nnext\n")
	d.put("many.txt", strings.Repeat("0123456789\n", 10_000))
	if got := d.must("read_file", m{"path": "a.txt"}); got != "one\ntwo\nthree\nfour" {
		t.Errorf("%q", got)
	}
	if got := d.must("read_file", m{"path": "a.txt", "offset": 2, "limit": 2}); !strings.HasPrefix(got, "two\nthree\n[") || !strings.Contains(got, "offset 4") {
		t.Errorf("%q", got)
	}
	if got := d.must("read_file", m{"path": "crlf.txt"}); got != "one\ntwo" {
		t.Errorf("%q", got)
	}
	if got := d.must("read_file", m{"path": "none.txt"}); !strings.Contains(got, "is empty") {
		t.Errorf("%q", got)
	}
	if got := d.must("read_file", m{"path": "long.txt"}); !strings.Contains(got, "…\nnext") || !strings.Contains(got, "were cut") {
		t.Errorf("%.60q … %q", got, got[len(got)-80:])
	}
	got := d.must("read_file", m{"path": "many.txt"})
	if len(got) > 31_000 || !strings.Contains(got, "go on with offset") {
		t.Errorf("%d %q", len(got), got[len(got)-80:])
	}
	var next int
	fmt.Sscanf(got[strings.Index(got, "offset ")+7:], "%d", &next)
	if more := d.must("read_file", m{"path": "many.txt", "offset": next}); !strings.HasPrefix(more, "0123456789\n") {
		t.Errorf("%.40q", more)
	}
	d.wantErr("ends with line 4", "read_file", m{"path": "a.txt", "offset": 9})
	d.wantErr("there is no file", "read_file", m{"path": "missing.txt"})
	d.wantErr("did you mean", "read_file", m{"path": "A.TXT"})
	d.wantErr("is a folder", "read_file", m{"path": "."})
	d.put("bin", "\x7fELF\x00\x00\x01")
	d.wantErr("is no text", "read_file", m{"path": "bin"})
}

func TestReadFileReturnsPicturesAndDocuments(t *testing.T) {
	d := newDesk(t)
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewRGBA(image.Rect(0, 0, 7, 5))); err != nil {
		t.Fatal(err)
	}
	d.put("p.png", b.String())
	r, err := d.call("read_file", m{"path": "p.png"})
	if err != nil || len(r.Images) != 1 || r.Images[0].Width != 7 || r.Images[0].Height != 5 || r.Images[0].MIME != "image/png" || !bytes.Equal(r.Images[0].Data, b.Bytes()) {
		t.Errorf("%+v %v", r, err)
	}
	d.put("x.pdf", "%PDF-1.4\n\xe2\xe3")
	if got := d.must("read_file", m{"path": "x.pdf"}); got != "text of x.pdf" {
		t.Errorf("%q", got)
	}
	d.put("broken.docx", "PK\x03\x04")
	d.wantErr("it is damaged", "read_file", m{"path": "broken.docx"})
	d.put("big.png", b.String()+strings.Repeat("x", maxImageBytes))
	d.wantErr("make it smaller", "read_file", m{"path": "big.png"})
}

func TestOnlyWhatLiesInTheWorkingFolderIsFree(t *testing.T) {
	d := newDesk(t)
	d.put("in.txt", "x")
	d.put("../out/out.txt", "x")
	if err := os.Symlink("../out", filepath.Join(d.WorkDir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../.ssh/id", filepath.Join(d.WorkDir, "innocent.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.Spool, "s.txt"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, subject string
		free, secret  bool
		prefix        string
	}{
		{"in.txt", d.WorkDir + "/in.txt", true, false, d.WorkDir},
		{"./x/../in.txt", "", false, false, ""},
		{"new/deep.txt", d.WorkDir + "/new/deep.txt", true, false, d.WorkDir},
		{"../out/out.txt", d.home + "/out/out.txt", false, false, d.home + "/out"},
		{"link/out.txt", d.home + "/out/out.txt", false, false, d.home + "/out"},
		{"../top.txt", d.home + "/top.txt", false, false, ""}, // the home holds secrets
		{"../.ssh/id", d.home + "/.ssh/id", false, true, ""},
		{"innocent.txt", d.home + "/.ssh/id", false, true, ""},
		{"../perch/sessions.db", d.home + "/perch/sessions.db", false, true, ""},
		{filepath.Join(d.Spool, "s.txt"), filepath.Join(d.Spool, "s.txt"), true, false, ""},
		{"/etc/hostname", "/etc/hostname", false, false, ""},
	} {
		raw, _ := json.Marshal(m{"path": c.path})
		tl, _ := d.set.Get("read_file")
		ns, err := tl.(chat.Needer).Needs(context.Background(), raw, d)
		if c.subject == "" {
			if err == nil {
				t.Errorf("%s: no error", c.path)
			}
			continue
		}
		if err != nil || len(ns) != 1 {
			t.Errorf("%s: %v %v", c.path, ns, err)
			continue
		}
		n := ns[0]
		if n.Kind != chat.NeedRead || n.Subject != c.subject || n.Free != c.free || n.Secret != c.secret || c.prefix != "" && n.Prefix != c.prefix || c.secret && n.Prefix != "" {
			t.Errorf("%s: %+v", c.path, n)
		}
	}
}

func TestALinkThatChangesAfterTheQuestionIsNoticed(t *testing.T) {
	d := newDesk(t)
	d.put("a.txt", "harmless")
	l := filepath.Join(d.WorkDir, "l")
	os.Symlink("a.txt", l)
	tl, _ := d.set.Get("read_file")
	raw := json.RawMessage(`{"path":"l"}`)
	if _, err := tl.(chat.Needer).Needs(context.Background(), raw, d); err != nil {
		t.Fatal(err)
	}
	os.Remove(l)
	os.Symlink("../.ssh/id", l)
	if r, err := tl.Execute(context.Background(), raw, d); err == nil {
		t.Errorf("read %q", r.Text)
	}
}

func TestEditFileReplacesExactlyOnce(t *testing.T) {
	d := newDesk(t)
	p := d.put("a.go", "a\nb\nb\n\tc\n")
	if err := os.Chmod(p, 0o751); err != nil {
		t.Fatal(err)
	}
	d.wantErr("was not read", "edit_file", m{"path": "a.go", "old": "a", "new": "x"})
	d.must("read_file", m{"path": "a.go"})
	d.wantErr("occurs 2 times", "edit_file", m{"path": "a.go", "old": "b\n", "new": "x"})
	d.wantErr("does not occur", "edit_file", m{"path": "a.go", "old": "zzz", "new": "x"})
	d.wantErr("with other spaces", "edit_file", m{"path": "a.go", "old": "b\nc", "new": "x"})
	d.wantErr("are the same", "edit_file", m{"path": "a.go", "old": "a", "new": "a"})
	d.must("edit_file", m{"path": "a.go", "old": "a\n", "new": "A\n"})
	d.must("edit_file", m{"path": "a.go", "old": "b", "new": "B", "all": true}) // its own change counts as seen
	if got := d.get("a.go"); got != "A\nB\nB\n\tc\n" {
		t.Errorf("%q", got)
	}
	if fi, _ := os.Stat(p); fi.Mode().Perm() != 0o751 {
		t.Errorf("mode %v", fi.Mode())
	}
	if w := d.Written(); len(w) != 2 || w[0] != p {
		t.Errorf("kept %v", w)
	}
	// Somebody else changes it.
	d.put("a.go", "A\nB\nB\n\tc\nmine\n")
	d.wantErr("has changed since", "edit_file", m{"path": "a.go", "old": "A", "new": "x"})
	if got := d.get("a.go"); !strings.HasSuffix(got, "mine\n") {
		t.Errorf("overwritten: %q", got)
	}
	if left, _ := filepath.Glob(filepath.Join(d.WorkDir, ".*")); len(left) > 0 {
		t.Errorf("left behind %v", left)
	}
}

func TestEncodingAndLineEndsStayAsTheyWere(t *testing.T) {
	const zh, tw, ja, ko = "春眠不觉晓，处处闻啼鸟。夜来风雨声，花落知多少。", "春眠不覺曉，處處聞啼鳥。夜來風雨聲，花落知多少。", "いろはにほへと、これは文字コードの判定を確かめる文章です。", "동해 물과 백두산이 마르고 닳도록 하느님이 보우하사"
	for _, c := range []struct {
		name string
		enc  encoding.Encoding
		text string
	}{
		{"utf-8", encoding.Nop, zh}, {"gb18030", simplifiedchinese.GB18030, zh}, {"big5", traditionalchinese.Big5, tw}, {"shift_jis", japanese.ShiftJIS, ja}, {"euc-kr", korean.EUCKR, ko},
		{"utf-16le", unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), zh}, {"utf-16be", unicode.UTF16(unicode.BigEndian, unicode.UseBOM), ja},
		{"bom", unicode.UTF8BOM, zh},
	} {
		for _, end := range []string{"\n", "\r\n"} {
			d := newDesk(t)
			write := func(s string) string {
				b, err := c.enc.NewEncoder().String(strings.ReplaceAll(s, "\n", end))
				if err != nil {
					t.Fatal(err)
				}
				return b
			}
			d.put("f", write(c.text+"\nold line\n"+c.text+"\n"))
			if got := d.must("read_file", m{"path": "f"}); !strings.HasPrefix(got, c.text+"\nold line\n") {
				t.Errorf("%s: read %.80q", c.name, got)
				continue
			}
			d.must("edit_file", m{"path": "f", "old": "old line\n" + c.text, "new": "new line\nand one\n" + c.text})
			if got, want := d.get("f"), write(c.text+"\nnew line\nand one\n"+c.text+"\n"); got != want {
				t.Errorf("%s %q: edited to %q, want %q", c.name, end, got, want)
			}
			d.must("write_file", m{"path": "f", "content": c.text + "\nwhole\n"})
			if got, want := d.get("f"), write(c.text+"\nwhole\n"); got != want {
				t.Errorf("%s %q: wrote %q, want %q", c.name, end, got, want)
			}
		}
	}
	d := newDesk(t)
	b, _ := korean.EUCKR.NewEncoder().String(ko)
	d.put("k", b)
	d.must("read_file", m{"path": "k"})
	d.wantErr("🦊", "write_file", m{"path": "k", "content": "🦊"})
}

func TestWriteFileMakesFoldersAndRefusesWhatWasNotSeen(t *testing.T) {
	d := newDesk(t)
	d.must("write_file", m{"path": "new/deep/f.txt", "content": "hello\n"})
	if d.get("new/deep/f.txt") != "hello\n" {
		t.Error("not written")
	}
	d.must("write_file", m{"path": "new/deep/f.txt", "content": "again\n"}) // its own file
	d.put("other.txt", "mine")
	d.wantErr("was not read", "write_file", m{"path": "other.txt", "content": "x"})
	d.must("read_file", m{"path": "other.txt"})
	d.put("other.txt", "mine again")
	d.wantErr("has changed since", "write_file", m{"path": "other.txt", "content": "x"})
	if d.get("other.txt") != "mine again" {
		t.Error("overwritten")
	}
	real := d.put("real.txt", "a")
	os.Symlink("real.txt", filepath.Join(d.WorkDir, "link.txt"))
	d.must("read_file", m{"path": "link.txt"})
	d.must("write_file", m{"path": "link.txt", "content": "b"})
	if fi, _ := os.Lstat(filepath.Join(d.WorkDir, "link.txt")); fi.Mode()&os.ModeSymlink == 0 || d.get("real.txt") != "b" {
		t.Errorf("the link was replaced; %s", real)
	}
}

func TestAQuestionAboutAWriteShowsTheWholeDifference(t *testing.T) {
	d := newDesk(t)
	d.put("a.txt", "one\ntwo\nthree\n")
	d.must("read_file", m{"path": "a.txt"})
	needs := func(tool string, in m) chat.Need {
		raw, _ := json.Marshal(in)
		tl, _ := d.set.Get(tool)
		ns, err := tl.(chat.Needer).Needs(context.Background(), raw, d)
		if err != nil || len(ns) != 1 {
			t.Fatalf("%v %v", ns, err)
		}
		return ns[0]
	}
	n := needs("edit_file", m{"path": "a.txt", "old": "two", "new": "2\u202e"})
	if n.Kind != chat.NeedWrite || n.Free || !strings.Contains(n.Detail, "-two\n+2‹U+202E›\n three\n") {
		t.Errorf("%+v", n)
	}
	n = needs("write_file", m{"path": "b.txt", "content": "x\n"})
	if !strings.Contains(n.Detail, "+x\n") || n.Prefix != d.WorkDir {
		t.Errorf("%+v", n)
	}
	n = needs("write_file", m{"path": "../.ssh/id", "content": "x\n"})
	if !n.Secret || strings.Contains(n.Detail, "planted") {
		t.Errorf("%+v", n)
	}
}

func TestDiff(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"a\n", "a\n", "(no change)"},
		{"", "a\n", "@@ -1,0 +1,1 @@\n+a\n"},
		{"a\n", "", "@@ -1,1 +1,0 @@\n-a\n"},
		{"a\nb\nc\n", "a\nx\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"},
		{"a\n", "a", "@@ -1,1 +1,1 @@\n-a\n+a\n\\ No newline at end of file\n"},
		{"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n5\n6\n7\n8\n9\n", "@@ -2,6 +2,7 @@\n 2\n 3\n 4\n+x\n 5\n 6\n 7\n"},
	} {
		got := strings.TrimPrefix(diff("f", c.a, c.b), "--- f\n+++ f\n")
		if got != c.want {
			t.Errorf("%q → %q: %q, want %q", c.a, c.b, got, c.want)
		}
	}
	// Whatever it shows, applying it gives b.
	a, b := []string{}, []string{}
	for i := range 300 {
		a = append(a, fmt.Sprint(i%17, "\n"))
		b = append(b, fmt.Sprint(i*i%13, "\n"))
	}
	var x, y []string
	for _, e := range edits(a, b) {
		if e.kind != '+' {
			x = append(x, e.line)
		}
		if e.kind != '-' {
			y = append(y, e.line)
		}
	}
	if strings.Join(x, "") != strings.Join(a, "") || strings.Join(y, "") != strings.Join(b, "") {
		t.Error("the difference does not lead from one to the other")
	}
}

func TestListFiles(t *testing.T) {
	d := newDesk(t)
	d.put("a.txt", "12345")
	d.put("src/b.go", "x")
	d.put("src/deep/c.go", "x")
	d.put("build/out.o", "x")
	d.put(".git/config", "x")
	d.put(".gitignore", "build/\n")
	os.Symlink("/etc", filepath.Join(d.WorkDir, "link"))
	if got := d.must("list_files", m{}); got != ".gitignore  7 bytes\na.txt  5 bytes\nbuild/\nlink -> /etc\nsrc/" {
		t.Errorf("%q", got)
	}
	if got := d.must("list_files", m{"depth": 0}); strings.Contains(got, "build") || !strings.Contains(got, "src/deep/c.go") || strings.Contains(got, "passwd") {
		t.Errorf("%q", got)
	}
	if got := d.must("list_files", m{"glob": "*.go"}); got != "src/b.go  1 bytes\nsrc/deep/c.go  1 bytes" {
		t.Errorf("%q", got)
	}
	if got := d.must("list_files", m{"path": ".."}); strings.Contains(got, ".ssh") || !strings.Contains(got, "secret places") {
		t.Errorf("%q", got)
	}
	d.wantErr("is a file", "list_files", m{"path": "a.txt"})
	d.WorkDir = filepath.Join(d.home, "not-there")
	if got := d.must("list_files", m{}); !strings.Contains(got, "does not exist yet") {
		t.Errorf("%q", got)
	}
}

func TestSearchFiles(t *testing.T) {
	d := newDesk(t)
	d.put("a.txt", "alpha\nBeta needle here\ngamma\nneedle again\n")
	d.put("src/b.go", "func Needle() {}\r\nx\r\n")
	d.put("build/c.txt", "needle ignored\n")
	d.put(".gitignore", "build/\n*.log\n!keep.log\n")
	d.put("x.log", "needle\n")
	d.put("keep.log", "needle kept\n")
	d.put("bin", "needle\x00\x01\x02")
	d.put(".git/x", "needle\n")
	gb, _ := simplifiedchinese.GB18030.NewEncoder().String("春眠不觉晓，处处闻啼鸟。夜来风雨声，花落知多少。\n")
	d.put("gb.txt", gb)
	d.put("sub/.gitignore", "/only\n")
	d.put("sub/only", "needle\n")
	d.put("sub/deep/only", "needle deep\n")
	os.Symlink(d.home+"/.ssh/id", filepath.Join(d.WorkDir, "l"))
	for _, c := range []struct {
		in   m
		want string
	}{
		{m{"pattern": "needle"}, "a.txt:2: Beta needle here\na.txt:4: needle again\nkeep.log:1: needle kept\nsub/deep/only:1: needle deep"},
		{m{"pattern": "needle", "ignore_case": true, "glob": "*.go"}, "src/b.go:1: func Needle() {}"},
		{m{"pattern": "^needle", "path": "a.txt"}, "a.txt:4: needle again"},
		{m{"pattern": `ne+dle\s+\w+$`, "path": "a.txt"}, "a.txt:2: Beta needle here\na.txt:4: needle again"},
		{m{"pattern": "(", "literal": true}, "src/b.go:1: func Needle() {}"},
		{m{"pattern": "啼鸟"}, "gb.txt:1: 春眠不觉晓，处处闻啼鸟。夜来风雨声，花落知多少。"},
		{m{"pattern": "gamma", "context": 1}, "a.txt-2- Beta needle here\na.txt:3: gamma\na.txt-4- needle again"},
		{m{"pattern": "needle", "context": 1, "path": "a.txt"}, "a.txt-1- alpha\na.txt:2: Beta needle here\na.txt-3- gamma\na.txt:4: needle again"},
		{m{"pattern": "needle", "files_only": true, "all": true}, "a.txt (2)\nbuild/c.txt (1)\nkeep.log (1)\nsub/deep/only (1)\nsub/only (1)\nx.log (1)"},
		{m{"pattern": "nothing-like-it"}, "[no match]"},
		{m{"pattern": "planted", "path": ".."}, "[no match]\n[1 secret places were not searched]"},
		{m{"pattern": "x|gamma", "path": "a.txt"}, "a.txt:3: gamma"},
		{m{"pattern": "BETA|ALPHA", "ignore_case": true, "path": "a.txt"}, "a.txt:1: alpha\na.txt:2: Beta needle here"},
		{m{"pattern": "needle", "path": "sub/deep"}, "only:1: needle deep"},
	} {
		if got := d.must("search_files", c.in); got != c.want {
			t.Errorf("%v:\n got %q\nwant %q", c.in, got, c.want)
		}
	}
	d.wantErr("no regular expression", "search_files", m{"pattern": "("})
	d.put("many.txt", strings.Repeat("needle\n", 1000))
	if got := d.must("search_files", m{"pattern": "needle", "path": "many.txt"}); strings.Count(got, "needle") != maxHits || !strings.Contains(got, "there are more") {
		t.Errorf("%d hits", strings.Count(got, "needle"))
	}
}

func TestSearchKeepsTrackAcrossPieces(t *testing.T) {
	d := newDesk(t)
	var b strings.Builder
	for i := 1; b.Len() < 3*chunk; i++ {
		fmt.Fprintf(&b, "line number %d of many\n", i)
	}
	n := strings.Count(b.String(), "\n")
	d.put("big.txt", b.String()+"the needle\n")
	if got, want := d.must("search_files", m{"pattern": "needle"}), fmt.Sprintf("big.txt:%d: the needle", n+1); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	d.put("oneline.txt", strings.Repeat("x", 3*chunk)+"needle2")
	if got := d.must("search_files", m{"pattern": "needle2"}); !strings.HasPrefix(got, "oneline.txt:1: ") {
		t.Errorf("%.60q", got)
	}
}

func TestGlobsAndIgnoreRules(t *testing.T) {
	for _, c := range []struct {
		glob, path string
		want       bool
	}{
		{"*.go", "a/b.go", true}, {"*.{ts,tsx}", "a/b.tsx", true}, {"src/**/*.go", "src/b.go", true}, {"src/**/*.go", "src/x/y/b.go", true}, {"src/*.go", "src/x/b.go", false}, {"*.go", "b.gox", false},
	} {
		if got := matchGlob(c.glob, c.path); got != c.want {
			t.Errorf("glob %s on %s: %v", c.glob, c.path, got)
		}
	}
	g := &ignores{rules: parseIgnore([]byte("# comment\n*.o\n/top\nfoo/bar\n**/deep\nlogs/**\nonly/\n!important.o\n\\#odd\nspace\\ \n"))}
	for path, want := range map[string]bool{
		"a.o": true, "x/a.o": true, "important.o": false, "top": true, "x/top": false, "foo/bar": true, "x/foo/bar": false, "a/b/deep": true, "logs/x": true, "logs": false, "#odd": true, "comment": false,
	} {
		if got := g.match(path, false); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if !g.match("x/only", true) || g.match("x/only", false) {
		t.Error("a rule for folders")
	}
}

func BenchmarkSearch(b *testing.B) {
	root := b.TempDir()
	line := "some ordinary line of code with words and numbers 12345 in it\n"
	for i := range 2000 { // 128 MB
		dir := filepath.Join(root, fmt.Sprint(i%40))
		os.MkdirAll(dir, 0o755)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i, ".txt")), []byte(strings.Repeat(line, 1000)), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for _, c := range []struct{ name, pattern string }{{"literal", "absent"}, {"regexp", `abs\w+ent`}, {"fold", "(?i)absent word"}, {"class", `[0-9]{6}`}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(2000 * 1000 * int64(len(line)))
			for b.Loop() {
				s := search{in: searchFilesInput{Pattern: c.pattern}, walker: walker{secret: places.New("/nonexistent")}}
				s.m, _ = newMatcher(c.pattern, false, false)
				if err := s.tree(context.Background(), root); err != nil || s.files > 0 {
					b.Fatal(err, s.files)
				}
			}
		})
	}
}
