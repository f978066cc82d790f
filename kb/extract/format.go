package extract

import (
	"bytes"
	"context"
	"net/http"
	"path/filepath"
	"strings"
)

type reader func(ctx context.Context, name string, b []byte) (Document, error)

type format struct {
	kind string
	read reader
	// quick readers take time in proportion to the size and run in place.
	quick bool
}

// archives are formats inside a zip, by a part that they all have.
var archives = []struct {
	kind, part string
	read       reader
}{
	{"docx", "word/document.xml", readDOCX},
	{"xlsx", "xl/workbook.xml", readXLSX},
	{"odt", "content.xml", readODT},
	{"epub", "META-INF/container.xml", readEPUB},
}

// codeSuffixes are those of programs and configurations, cut by lines. What is
// missing here is text, which differs little.
var codeSuffixes = set(`.go .py .js .mjs .cjs .ts .tsx .jsx .java .kt .kts .scala .c .h .cc .cpp .cxx .hpp
	.hh .m .mm .cs .fs .rs .rb .php .pl .pm .lua .r .jl .swift .dart .ex .exs .erl .hs .ml .clj .lisp .el
	.sh .bash .zsh .fish .ps1 .bat .cmd .sql .css .scss .less .vue .svelte .proto .tf .nix .cmake .mk .gradle
	.json .yaml .yml .toml .ini .cfg .conf .xml .s .asm .v .sv .vhd .zig .nim .groovy .awk .vim .tcl .pas .f90`)

var markdownSuffixes = set(".md .markdown .mdown .mkd .mdx .rmd .qmd")

var htmlSuffixes = set(".html .htm .xhtml")

func set(s string) map[string]bool {
	m := map[string]bool{}
	for f := range strings.FieldsSeq(s) {
		m[f] = true
	}
	return m
}

// binarySignatures name formats that hold no text for us, by their first bytes.
var binarySignatures = []struct{ magic, what string }{
	{"\x7fELF", "a program"}, {"MZ", "a program"}, {"\xca\xfe\xba\xbe", "a program"},
	{"\xcf\xfa\xed\xfe", "a program"}, {"\x00asm", "a program"},
	{"\x1f\x8b", "compressed"}, {"BZh", "compressed"}, {"\xfd7zXZ\x00", "compressed"},
	{"7z\xbc\xaf\x27\x1c", "an archive"}, {"Rar!\x1a", "an archive"}, {"\x28\xb5\x2f\xfd", "compressed"},
	{"SQLite format 3\x00", "a database"}, {"\x89PNG", "a picture"}, {"\xff\xd8\xff", "a picture"},
	{"GIF8", "a picture"}, {"II*\x00", "a picture"}, {"MM\x00*", "a picture"},
	{"ID3", "sound"}, {"OggS", "sound or film"}, {"fLaC", "sound"}, {"\x1aE\xdf\xa3", "a film"},
	{"wOFF", "a font"}, {"wOF2", "a font"}, {"OTTO", "a font"}, {"\x00\x01\x00\x00", "a font"},
}

// oldOffice is the container of .doc, .xls and .ppt before 2007, and of
// Outlook's messages.
const oldOffice = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

// formatOf decides by content first and by name where content does not tell.
func formatOf(name string, b []byte) format {
	ext := strings.ToLower(filepath.Ext(name))
	switch {
	case len(bytes.TrimSpace(b[:min(len(b), 4096)])) == 0 && len(b) <= 4096:
		return refuse("text", "empty file")
	case bytes.HasPrefix(b, []byte("%PDF-")) || ext == ".pdf" && bytes.Contains(b[:min(len(b), 1024)], []byte("%PDF-")):
		return format{kind: "pdf", read: readPDF}
	case bytes.HasPrefix(b, []byte("PK\x03\x04")), bytes.HasPrefix(b, []byte("PK\x05\x06")):
		return format{kind: "zip", read: readArchive}
	case bytes.HasPrefix(b, []byte(oldOffice)):
		return refuse("office", "the old Office format; save it as .docx, .xlsx or PDF")
	case bytes.HasPrefix(b, []byte(`{\rtf`)):
		return format{kind: "rtf", read: readRTF, quick: true}
	}
	for _, s := range binarySignatures {
		if bytes.HasPrefix(b, []byte(s.magic)) && looksBinary(b) {
			return refuse("binary", "binary file: "+s.what)
		}
	}
	switch {
	case htmlSuffixes[ext], ext == "" && strings.HasPrefix(http.DetectContentType(b), "text/html"):
		return format{kind: "html", read: readHTML, quick: true}
	case markdownSuffixes[ext]:
		return format{kind: "markdown", read: readText, quick: true}
	case codeSuffixes[ext]:
		return format{kind: "code", read: readText, quick: true}
	}
	return format{kind: "text", read: readText, quick: true}
}

func refuse(kind, reason string) format {
	return format{kind: kind, quick: true, read: func(context.Context, string, []byte) (Document, error) {
		return Document{}, skipf("%s", reason)
	}}
}
