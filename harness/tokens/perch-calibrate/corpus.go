package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// document is one text of the calibration corpus.
type document struct {
	source string // the folder below the corpus root, a package
	kind   string // a language ("de", "zh"), "code", "json", "terminal"
	text   string
}

// maxFile is the size in bytes from which on a file is left out: generated
// tables, not text.
const maxFile = 2 << 20

// readCorpus reads the documents below root/SOURCE/…: HTML, Mallard pages, manual
// pages, plain text, code. Files that hold no valid UTF-8 are left out.
func readCorpus(root string) ([]document, error) {
	var docs []document
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.Type().IsRegular() {
			return nil
		}
		rel, _ := filepath.Rel(root, path)
		source, _, _ := strings.Cut(rel, string(filepath.Separator))
		if text := readText(path); text != "" {
			docs = append(docs, document{source, kindOf(source, rel), text})
		}
		return nil
	})
	return docs, err
}

// readText returns the text of a file, "" for one that is none.
func readText(path string) string {
	info, err := os.Stat(path)
	if err != nil || info.Size() > maxFile || info.Size() < 100 {
		return ""
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	name := path
	if strings.HasSuffix(name, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return ""
		}
		if data, err = io.ReadAll(io.LimitReader(z, maxFile)); err != nil {
			return ""
		}
		name = strings.TrimSuffix(name, ".gz")
	}
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return ""
	}
	switch ext := filepath.Ext(name); {
	case ext == ".html" || ext == ".htm" || ext == ".page" || ext == ".xhtml":
		return fromHTML(data)
	case strings.Contains(name, "/man/"):
		return fromRoff(string(data))
	case textFile[ext] || ext == "" && strings.Contains(name, "/games/fortunes/"):
		return string(data)
	}
	return ""
}

var textFile = map[string]bool{
	".txt": true, ".md": true, ".go": true, ".js": true, ".mjs": true, ".ts": true, ".py": true, ".c": true, ".h": true,
	".sh": true, ".json": true, ".log": true, ".yaml": true, ".yml": true, ".css": true, ".toml": true, ".s": true, ".pl": true, ".rs": true,
}

var language = regexp.MustCompile(`/(?:html|help|man|FAQ|text|installation-guide-amd64)/([a-z]{2}(?:[-_@][A-Za-z]+)?|C)/|-(de|fr|es|it|ja|ru|pt|pl|tr|ko|el|hi|vi|cs|uk|zh-cn|zh-tw|pt-br)$`)

func kindOf(source, rel string) string {
	switch source {
	case "code-go", "code-js", "code-py", "code-c", "code-sh", "code-held":
		switch filepath.Ext(rel) {
		case ".json", ".yaml", ".yml", ".toml":
			return "json"
		case ".md", ".txt":
			return "en"
		}
		return "code"
	case "terminal":
		return "terminal"
	}
	lang := "en"
	if m := language.FindStringSubmatch(source); m != nil && m[2] != "" {
		lang = m[2]
	} else if all := language.FindAllStringSubmatch("/"+rel, -1); all != nil {
		for _, m := range all {
			if m[1] != "" {
				lang = m[1]
			}
		}
	}
	lang = strings.ToLower(strings.ReplaceAll(lang, "_", "-"))
	if lang == "c" {
		lang = "en"
	}
	base, region, _ := strings.Cut(lang, "-")
	if base == "zh" && (region == "tw" || region == "hk") {
		return "zh-tw"
	}
	return strings.TrimSuffix(base, "@latin")
}

// fromHTML keeps the text of a page: code as it is laid out, prose with its
// white space joined.
func fromHTML(data []byte) string {
	var b strings.Builder
	z := html.NewTokenizer(bytes.NewReader(data))
	skip, pre := 0, 0
	for {
		switch z.Next() {
		case html.ErrorToken:
			return blankLines.ReplaceAllString(strings.TrimSpace(b.String()), "\n\n")
		case html.TextToken:
			if skip > 0 {
				continue
			}
			s := string(z.Text())
			s = html.UnescapeString(s)
			if pre > 0 {
				b.WriteString(s)
				continue
			}
			f := strings.Join(strings.Fields(s), " ")
			if f == "" {
				continue
			}
			if s[0] == ' ' || s[0] == '\n' {
				b.WriteByte(' ')
			}
			b.WriteString(f)
			if last := s[len(s)-1]; last == ' ' || last == '\n' {
				b.WriteByte(' ')
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			switch string(name) {
			case "script", "style", "head", "nav", "info":
				skip++
			case "pre", "code", "screen":
				pre++
			case "p", "li", "tr", "h1", "h2", "h3", "h4", "title", "item", "section":
				b.WriteByte('\n')
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			switch string(name) {
			case "script", "style", "head", "nav", "info":
				skip = max(skip-1, 0)
			case "pre", "code", "screen":
				pre = max(pre-1, 0)
			case "p", "h1", "h2", "h3", "div", "table", "ul", "ol":
				b.WriteByte('\n')
			}
		}
	}
}

var (
	blankLines = regexp.MustCompile(`\n[ \t\n]*\n`)
	roffEscape = regexp.MustCompile(`\\f[A-Z]|\\f\([A-Z]+|\\f\[[A-Z]*\]|\\s[-+]?\d|\\&|\\,|\\/|\\c|\\:|\\%|\\\*\([a-zA-Z]{2}|\\\*\[[^\]]*\]`)
	roffChar   = strings.NewReplacer(`\-`, "-", `\e`, `\`, `\ `, " ", `\~`, " ", `\(aq`, "'", `\(dq`, `"`, `\(lq`, "“", `\(rq`, "”", `\(em`, "—", `\(en`, "–", `\(bu`, "•", `\(co`, "©", `\[aq]`, "'", `\[dq]`, `"`, `\[rs]`, `\`, `\[ti]`, "~", `\(ti`, "~", `\(ha`, "^", `\[ha]`, "^", `\0`, " ", `\|`, "", `\^`, "")
)

// fromRoff keeps the text of a manual page.
func fromRoff(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, ".\\\"") || strings.HasPrefix(line, "'\\\"") || line == "." {
			continue
		}
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			macro, rest, _ := strings.Cut(line[1:], " ")
			switch macro {
			case "B", "I", "BR", "IR", "RB", "RI", "BI", "IB", "SM", "Nm", "Fl", "Ar", "Nd", "Xr":
				line = strings.ReplaceAll(rest, `"`, "")
			case "SH", "SS", "TP", "PP", "P", "LP", "IP", "Sh", "Ss", "Pp", "It":
				line = "\n" + strings.ReplaceAll(rest, `"`, "")
			default:
				continue
			}
		}
		b.WriteString(roffChar.Replace(roffEscape.ReplaceAllString(line, "")))
		b.WriteByte('\n')
	}
	return blankLines.ReplaceAllString(b.String(), "\n\n")
}
