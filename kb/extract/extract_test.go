//go:build unix

package extract

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

func read(t *testing.T, name string, b []byte) (Document, error) {
	t.Helper()
	return Bytes(context.Background(), name, b)
}

func mustRead(t *testing.T, name string, b []byte) Document {
	t.Helper()
	d, err := read(t, name, b)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return d
}

func TestTextInAnyCommonEncodingIsRead(t *testing.T) {
	zh := "知识库保存在本地磁盘上，搜索速度很快。用户可以把自己的文件夹加入索引，程序会监视其中的变化。今天天气很好，我们去公园散步。"
	tw := "知識庫保存在本地磁碟上，搜尋速度很快。使用者可以把自己的資料夾加入索引，程式會監視其中的變化。今天天氣很好，我們去公園散步。"
	ja := "知識ベースはローカルディスクに保存され、検索はとても速いです。ユーザーは自分のフォルダーを追加できます。今日は天気がいいので公園へ行きましょう。"
	ko := "지식 베이스는 로컬 디스크에 저장되며 검색이 매우 빠릅니다. 사용자는 자신의 폴더를 추가할 수 있습니다. 오늘은 날씨가 좋아서 공원에 갑니다."
	ru := "База знаний хранится на локальном диске, и поиск работает очень быстро. Пользователь может добавить свои папки."
	de := "Die Straße führt über die Brücke, und die Möwen kreischen. Größe, Übung, Äpfel und Öl gehören dazu."
	for _, c := range []struct {
		name, text string
		enc        encoding.Encoding
	}{
		{"utf-8", zh, encoding.Nop}, {"utf-8 bom", "\ufeff" + ru, encoding.Nop},
		{"utf-16le bom", de, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)},
		{"utf-16be bom", ja, unicode.UTF16(unicode.BigEndian, unicode.UseBOM)},
		{"utf-16le", de, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)},
		{"utf-16be", de, unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)},
		{"utf-16le chinese", strings.Repeat(zh+" 1\n", 3), unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)},
		{"gbk", zh, simplifiedchinese.GBK}, {"gb18030", zh, simplifiedchinese.GB18030},
		{"big5", tw, traditionalchinese.Big5}, {"shift_jis", ja, japanese.ShiftJIS}, {"euc-jp", ja, japanese.EUCJP},
		{"euc-kr", ko, korean.EUCKR}, {"windows-1251", ru, charmap.Windows1251}, {"koi8-r", ru, charmap.KOI8R},
		{"latin1", de, charmap.ISO8859_1}, {"windows-1252", de + " „so“ – 5 €", charmap.Windows1252},
	} {
		b, err := c.enc.NewEncoder().Bytes([]byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		d, err := read(t, "note.txt", b)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if want := strings.TrimPrefix(c.text, "\ufeff"); d.Text != want {
			t.Errorf("%s is read as %s: %.60q", c.name, d.Encoding, d.Text)
		}
	}
}

func zipOf(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func docx(t *testing.T, body string) []byte {
	return zipOf(t, "[Content_Types].xml", "<x/>", "docProps/core.xml", `<cp:coreProperties><dc:title>Budget plan</dc:title></cp:coreProperties>`,
		"word/styles.xml", `<w:styles><w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style></w:styles>`,
		"word/document.xml", `<w:document><w:body>`+body+`</w:body></w:document>`)
}

func TestOfficeFormatsGiveTheirText(t *testing.T) {
	d := mustRead(t, "plan.docx", docx(t, `<w:p><w:pPr><w:pStyle w:val="berschrift1"/></w:pPr><w:r><w:t>Costs</w:t></w:r></w:p>
		<w:p><w:r><w:t xml:space="preserve">The roof </w:t></w:r><w:r><w:t>costs 12,000.</w:t></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p>
		<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a1</w:t></w:r></w:p></w:tc></w:tr></w:tbl>`))
	if d.Kind != "docx" || d.Title != "Budget plan" || d.Text != "# Costs\nThe roof costs 12,000.\na1\n\n" {
		t.Errorf("docx: %+v", d)
	}
	d = mustRead(t, "letter.odt", zipOf(t, "mimetype", "application/vnd.oasis.opendocument.text",
		"content.xml", `<office:document-content><office:body><office:text><text:h text:outline-level="2">Dear</text:h><text:p>We<text:s/>moved.</text:p></office:text></office:body></office:document-content>`,
		"meta.xml", `<office:meta><dc:title>Letter</dc:title></office:meta>`))
	if d.Kind != "odt" || d.Title != "Letter" || d.Text != "## Dear\n\nWe moved.\n" {
		t.Errorf("odt: %+v", d)
	}
	d = mustRead(t, "book.epub", zipOf(t, "mimetype", "application/epub+zip",
		"META-INF/container.xml", `<container><rootfiles><rootfile full-path="OEBPS/c.opf"/></rootfiles></container>`,
		"OEBPS/c.opf", `<package><metadata><dc:title>Sea</dc:title></metadata><manifest><item id="b" href="two.xhtml"/><item id="a" href="one%20x.xhtml"/></manifest><spine><itemref idref="a"/><itemref idref="b"/></spine></package>`,
		"OEBPS/one x.xhtml", `<html><body><h1>First</h1><p>Waves.</p></body></html>`,
		"OEBPS/two.xhtml", `<html><body><p>Tides.</p></body></html>`))
	if d.Kind != "epub" || d.Title != "Sea" || strings.Join(strings.Fields(d.Text), " ") != "# First Waves. Tides." {
		t.Errorf("epub: %+v", d)
	}
	d = mustRead(t, "numbers.xlsx", zipOf(t, "xl/workbook.xml", `<workbook><sheets><sheet name="Year" r:id="r1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels", `<Relationships><Relationship Id="r1" Target="worksheets/sheet1.xml"/></Relationships>`,
		"xl/sharedStrings.xml", `<sst><si><t>Rent</t></si><si><r><t>Po</t></r><r><t>wer</t></r></si></sst>`,
		"xl/worksheets/sheet1.xml", `<worksheet><sheetData><row><c t="s"><v>0</v></c><c><v>950</v></c></row><row><c t="s"><v>1</v></c><c t="inlineStr"><is><t>low</t></is></c></row></sheetData></worksheet>`))
	if d.Kind != "xlsx" || strings.Join(strings.Fields(d.Text), " ") != "# Year Rent 950 Power low" {
		t.Errorf("xlsx: %+v", d)
	}
	d = mustRead(t, "old.rtf", []byte(`{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}\f0 Gr\'fc\'dfe\par Caf\u233?\par}`))
	if d.Kind != "rtf" || strings.Join(strings.Fields(d.Text), " ") != "Grüße Café" {
		t.Errorf("rtf: %q", d.Text)
	}
}

func TestHTMLKeepsTheLinesOfTheFile(t *testing.T) {
	page := "<html><head><title>The page</title>\n<style>p { color: red }</style>\n</head><body>\n<h2>Start</h2>\n<p>One &amp; two\n   three</p>\n<script>var x = '<p>no</p>'</script>\n<ul><li>item</li></ul>\n<pre>a\n  b</pre>\n</body></html>\n"
	d := mustRead(t, "page.html", []byte(page))
	if d.Title != "The page" || strings.Contains(d.Text, "color") || strings.Contains(d.Text, "no") {
		t.Errorf("%+v", d)
	}
	lines := strings.Split(page, "\n")
	for i, l := range strings.Split(strings.TrimSuffix(d.Text, "\n"), "\n") {
		if l = strings.TrimLeft(l, "#- "); l == "" {
			continue
		}
		first := strings.Fields(strings.ReplaceAll(l, "&", "&amp;"))[0]
		if at := lines[d.Lines[i]-1]; !strings.Contains(at, first) {
			t.Errorf("line %d %q is said to be line %d, which is %q", i, l, d.Lines[i], at)
		}
	}
}

// pdfOf makes a small PDF of pages with those content streams.
func pdfOf(pages ...string) []byte {
	var b bytes.Buffer
	var at []int
	obj := func(s string) { at = append(at, b.Len()); fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(at), s) }
	b.WriteString("%PDF-1.4\n")
	var kids []string
	for i := range pages {
		kids = append(kids, fmt.Sprintf("%d 0 R", 4+2*i))
	}
	obj("<< /Type /Catalog /Pages 2 0 R >>")
	obj(fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(kids, " "), len(kids)))
	obj("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
	for i, p := range pages {
		obj(fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>", 5+2*i))
		obj(fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(p), p))
	}
	x := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, o := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, x)
	return b.Bytes()
}

func TestPDFGivesTextByPage(t *testing.T) {
	b := pdfOf("BT /F1 12 Tf 72 720 Td (The first page) Tj ET", "BT /F1 12 Tf 72 720 Td (Second page text) Tj ET")
	for name, f := range map[string]reader{"as installed": readPDF, "without help": func(ctx context.Context, _ string, b []byte) (Document, error) { return plainPDF(ctx, b) }} {
		d, err := f(context.Background(), "x.pdf", b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		lines := strings.Split(d.Text, "\n")
		for i, l := range lines {
			if strings.Contains(l, "Second") && d.Pages[i] != 2 {
				t.Errorf("%s: page %d", name, d.Pages[i])
			}
		}
		if !strings.Contains(d.Text, "first page") || !strings.Contains(d.Text, "Second page text") {
			t.Errorf("%s: %q", name, d.Text)
		}
	}
}

func TestEachSkipHasAReason(t *testing.T) {
	bomb := zipOf(t, "word/document.xml", strings.Repeat("<w:t>aaaaaaaa</w:t>", maxUnpacked/18+100))
	for _, c := range []struct {
		name   string
		b      []byte
		reason string
	}{
		{"scan.pdf", pdfOf("0 0 612 792 re f"), "no text"},
		{"broken.pdf", []byte("%PDF-1.7\ngarbage"), "damaged pdf"},
		{"picture.png", []byte("\x89PNG\r\n\x1a\n\x00\x00\x00"), "a picture"},
		{"program", []byte("\x7fELF\x02\x01\x01\x00\x00"), "a program"},
		{"data.bin", []byte{1, 2, 3, 0, 4, 5, 0xff, 0xfe, 0, 9, 9, 9}, "binary"},
		{"empty.txt", nil, "empty"}, {"blank.md", []byte(" \n\t\n"), "empty"},
		{"a.zip", zipOf(t, "x.txt", "hello"), "an archive"},
		{"cut.docx", docx(t, "<w:p/>")[:100], "damaged archive"},
		{"bomb.docx", bomb, "unpacks to more"},
		{"nothing.docx", docx(t, ""), "no text"},
		{"old.doc", []byte(oldOffice + "xxxx"), "old Office format"},
	} {
		_, err := read(t, c.name, c.b)
		var s *Skip
		if !errors.As(err, &s) || !strings.Contains(s.Reason, c.reason) {
			t.Errorf("%s: %v, want a skip with %q", c.name, err, c.reason)
		}
	}
}

func TestWhatIsNoRegularFileIsNotOpened(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	big := filepath.Join(dir, "big.log")
	f, err := os.Create(big)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(2 << 30); err != nil {
		t.Fatal(err)
	}
	f.Close()
	for path, reason := range map[string]string{pipe: "a pipe", dir: "a folder", big: "too large"} {
		_, err := File(path)
		var s *Skip
		if !errors.As(err, &s) || !strings.Contains(s.Reason, reason) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := File(filepath.Join(dir, "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

func FuzzBytes(f *testing.F) {
	f.Add("a.html", []byte("<p>x<pre>\n"))
	f.Add("a.rtf", []byte(`{\rtf1\u1?`))
	f.Add("a.txt", []byte{0xff, 0xfe, 'a', 0})
	f.Fuzz(func(t *testing.T, name string, b []byte) {
		if bytes.HasPrefix(b, []byte("%PDF")) {
			t.Skip()
		}
		d, err := Bytes(context.Background(), name, b)
		if err == nil && d.Lines != nil && len(d.Lines) != strings.Count(d.Text, "\n") {
			t.Errorf("%d places for %d lines", len(d.Lines), strings.Count(d.Text, "\n"))
		}
	})
}
