//go:build unix

package kb

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
)

func TestAFolderOfHardFilesIsIndexedAndEachSkipIsListed(t *testing.T) {
	dir := t.TempDir()
	p := func(n string) string { return filepath.Join(dir, n) }
	utf16, _ := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String("Wide letters about penguins\n")
	gbk, _ := simplifiedchinese.GBK.NewEncoder().String("企鹅生活在南极，它们不会飞，但是游泳非常快。这里的文字使用旧的编码保存。\n")
	write(t, p("utf16.txt"), utf16)
	write(t, p("gbk.txt"), gbk)
	write(t, p("binary.dat"), "\x01\x02\x00\x00\xff\xfe\x03\x00garbage\x00")
	write(t, p("scan.pdf"), scannedPDF)
	write(t, p("empty.txt"), "")
	write(t, p("long.txt"), "start "+strings.Repeat("penguin ", 200_000)+" end")
	write(t, p("deep/"+strings.Repeat("d/", 60)+"leaf.txt"), "a leaf with a narwhal\n")
	write(t, p(".hidden.txt"), "hidden penguin\n")
	write(t, p(".git/config"), "penguin\n")
	write(t, p("skipme.log"), "penguin\n")
	write(t, p(".gitignore"), "*.log\n/build/\n")
	write(t, p("build/out.txt"), "penguin\n")
	write(t, p("new\nline.txt"), "odd name albatross\n")
	big, err := os.Create(p("huge.log.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if err := big.Truncate(2 << 30); err != nil {
		t.Fatal(err)
	}
	big.Close()
	for link, target := range map[string]string{"loop": dir, "up": filepath.Dir(dir), "dead": p("nowhere"), "also": p("gbk.txt")} {
		if err := os.Symlink(target, p(link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(p("pipe.txt"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := open(t, Options{Path: filepath.Join(t.TempDir(), "kb.db")})
	start := time.Now()
	s := add(t, b, dir)
	if d := time.Since(start); d > 30*time.Second {
		t.Errorf("took %v", d)
	}
	reasons := map[string]string{}
	for _, pr := range s.Problems {
		rel, _ := filepath.Rel(dir, pr.Path)
		reasons[rel] = pr.Reason
	}
	for name, want := range map[string]string{
		"binary.dat": "binary", "scan.pdf": "no text", "empty.txt": "empty", ".hidden.txt": "hidden", ".git": "version control",
		"skipme.log": ".gitignore", "build": ".gitignore", "huge.log.txt": "too large", "loop": "a link to", "up": "outside the folder",
		"dead": "leads nowhere", "also": "a link to", "pipe.txt": "a pipe",
	} {
		if !strings.Contains(reasons[name], want) {
			t.Errorf("%s: reason %q, want one with %q", name, reasons[name], want)
		}
		delete(reasons, name)
	}
	if len(reasons) > 0 {
		t.Errorf("unexpected: %v", reasons)
	}
	for q, want := range map[string]string{"wide penguins": "utf16.txt", "企鹅": "gbk.txt", "narwhal": "leaf.txt", "albatross": "new\nline.txt"} {
		if n := found(t, b, q); len(n) == 0 || n[0] != want {
			t.Errorf("%q finds %v, want %s", q, n, want)
		}
	}
	if s.Documents != 5 {
		t.Errorf("%d documents, want 5", s.Documents)
	}
	// What was mended is no problem any more.
	write(t, p("empty.txt"), "no longer empty\n")
	for _, pr := range add(t, b, dir).Problems {
		if pr.Path == p("empty.txt") {
			t.Errorf("still listed: %v", pr)
		}
	}
}

// scannedPDF has one page with a filled rectangle and no text.
const scannedPDF = "%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n" +
	"3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R >>\nendobj\n4 0 obj\n<< /Length 17 >>\nstream\n0 0 612 792 re f\n\nendstream\nendobj\n" +
	"xref\n0 5\n0000000000 65535 f \n0000000009 00000 n \n0000000058 00000 n \n0000000115 00000 n \n0000000203 00000 n \ntrailer\n<< /Size 5 /Root 1 0 R >>\nstartxref\n270\n%%EOF\n"
