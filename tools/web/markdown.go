package web

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// titleOf is the page's title.
func titleOf(root *html.Node) string {
	for n := range root.Descendants() {
		if n.DataAtom == atom.Title && n.FirstChild != nil {
			return n.FirstChild.Data
		}
	}
	return ""
}

// toMarkdown renders a page, or (unless full) its main text.
func toMarkdown(root *html.Node, base *url.URL, full bool) string {
	if b := baseOf(root, base); b != nil {
		base = b
	}
	start := bodyOf(root)
	w := &writer{base: base, full: full}
	if !full {
		start = mainContent(start)
	}
	w.block(start)
	out := w.text()
	if !full && len(out) < minMain {
		return toMarkdown(root, base, true) // the choice was wrong, or there is no main text
	}
	return out
}

// minMain is the least that counts as a main text, in bytes.
const minMain = 140

func bodyOf(root *html.Node) *html.Node {
	for n := range root.Descendants() {
		if n.DataAtom == atom.Body {
			return n
		}
	}
	return root
}

// baseOf is the page's own base address, if it names one.
func baseOf(root *html.Node, page *url.URL) *url.URL {
	for n := range root.Descendants() {
		if n.DataAtom == atom.Base {
			if u, err := page.Parse(attr(n, "href")); err == nil && attr(n, "href") != "" {
				return u
			}
		}
	}
	return nil
}

// writer renders nodes as Markdown.
type writer struct {
	base  *url.URL
	full  bool
	paras []string
}

// block renders a node's children as blocks; runs of inline content between them
// become paragraphs.
func (w *writer) block(n *html.Node) {
	var inline []*html.Node
	flush := func() {
		var b strings.Builder
		for _, c := range inline {
			b.WriteString(w.inline(c))
		}
		inline = inline[:0]
		if s := tidy(b.String()); s != "" {
			w.para(s)
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if w.dropped(c) {
			continue
		}
		if c.Type == html.ElementNode && isBlock(c) {
			flush()
			w.element(c)
			continue
		}
		inline = append(inline, c)
	}
	flush()
}

func (w *writer) para(s string) { w.paras = append(w.paras, s) }

func (w *writer) text() string { return strings.Join(w.paras, "\n\n") }

// nested renders a node on its own and returns the text.
func (w *writer) nested(n *html.Node) string {
	inner := &writer{base: w.base, full: w.full}
	inner.block(n)
	return inner.text()
}

func (w *writer) element(n *html.Node) {
	switch n.DataAtom {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		if s := oneLine(w.inlineChildren(n)); s != "" {
			w.para(strings.Repeat("#", int(n.Data[1]-'0')) + " " + s)
		}
	case atom.Pre:
		w.para(codeBlock(n))
	case atom.Blockquote:
		if s := w.nested(n); s != "" {
			w.para("> " + strings.ReplaceAll(s, "\n", "\n> "))
		}
	case atom.Ul, atom.Ol, atom.Menu:
		w.list(n)
	case atom.Table:
		w.table(n)
	case atom.Hr:
		w.para("---")
	case atom.Dt:
		if s := tidy(w.inlineChildren(n)); s != "" {
			w.para("**" + s + "**")
		}
	case atom.Li: // outside a list
		if s := w.nested(n); s != "" {
			w.para("- " + indent(s, 2))
		}
	default:
		w.block(n)
	}
}

func (w *writer) list(n *html.Node) {
	number := 0
	if n.DataAtom == atom.Ol {
		number = 1
		fmt.Sscanf(attr(n, "start"), "%d", &number)
	}
	var items []string
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode || w.dropped(c) {
			continue
		}
		s := w.nested(c)
		if s == "" {
			continue
		}
		mark := "- "
		if n.DataAtom == atom.Ol {
			mark = fmt.Sprintf("%d. ", number)
			number++
		}
		s = strings.ReplaceAll(s, "\n\n- ", "\n- ") // a list inside a list stands close
		items = append(items, mark+indent(s, len(mark)))
	}
	if len(items) > 0 {
		w.para(strings.Join(items, "\n"))
	}
}

// indent moves all lines but the first, and no empty ones.
func indent(s string, n int) string {
	lines := strings.Split(s, "\n")
	for i := 1; i < len(lines); i++ {
		if lines[i] != "" {
			lines[i] = strings.Repeat(" ", n) + lines[i]
		}
	}
	return strings.Join(lines, "\n")
}

// table renders rows; a table that holds blocks is a layout and its cells are
// rendered one after another.
func (w *writer) table(t *html.Node) {
	var rows [][]*html.Node
	layout := false
	for n := range t.Descendants() {
		switch n.DataAtom {
		case atom.Table:
			layout = true
		case atom.Tr:
			rows = append(rows, nil)
		case atom.Td, atom.Th:
			if len(rows) > 0 {
				rows[len(rows)-1] = append(rows[len(rows)-1], n)
			}
		}
	}
	wide := 0
	for _, r := range rows {
		wide = max(wide, len(r))
	}
	if layout || wide < 2 || len(rows) < 2 {
		for _, r := range rows {
			for _, c := range r {
				if layout && containsTable(c) {
					w.block(c)
				} else if s := w.nested(c); s != "" {
					w.para(s)
				}
			}
		}
		return
	}
	var lines []string
	for i, r := range rows {
		cells := make([]string, wide)
		for j, c := range r {
			cells[j] = strings.ReplaceAll(oneLine(w.inlineChildren(c)), "|", `\|`)
		}
		lines = append(lines, "| "+strings.Join(cells, " | ")+" |")
		if i == 0 {
			lines = append(lines, "|"+strings.Repeat(" --- |", wide))
		}
	}
	w.para(strings.Join(lines, "\n"))
}

func containsTable(n *html.Node) bool {
	for c := range n.Descendants() {
		if c.DataAtom == atom.Table {
			return true
		}
	}
	return false
}

func (w *writer) inlineChildren(n *html.Node) string {
	var b strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		b.WriteString(w.inline(c))
	}
	return b.String()
}

// inline renders a node inside a line.
func (w *writer) inline(n *html.Node) string {
	if w.dropped(n) {
		return ""
	}
	if n.Type == html.TextNode {
		return spaces.ReplaceAllString(n.Data, " ")
	}
	if n.Type != html.ElementNode {
		return ""
	}
	switch n.DataAtom {
	case atom.Br:
		return "\n"
	case atom.Img:
		if alt := oneLine(attr(n, "alt")); alt != "" {
			return "[picture: " + alt + "]"
		}
		return ""
	case atom.Code, atom.Kbd, atom.Samp, atom.Tt:
		if s := oneLine(textOf(n)); s != "" {
			if strings.Contains(s, "`") {
				return "`` " + s + " ``"
			}
			return "`" + s + "`"
		}
		return ""
	case atom.A:
		return w.link(n)
	}
	s := w.inlineChildren(n)
	switch n.DataAtom {
	case atom.Strong, atom.B:
		return around(s, "**")
	case atom.Em, atom.I:
		return around(s, "*")
	case atom.Del, atom.S, atom.Strike:
		return around(s, "~~")
	case atom.Sup:
		return around(s, "^")
	}
	if isBlock(n) {
		return " " + s + " "
	}
	return s
}

// around puts marks round a text and leaves its outer blanks outside.
func around(s, mark string) string {
	t := strings.TrimSpace(s)
	if t == "" || strings.Contains(t, "\n\n") {
		return s
	}
	i := strings.Index(s, t)
	return s[:i] + mark + t + mark + s[i+len(t):]
}

// link renders an anchor with its absolute address.
func (w *writer) link(n *html.Node) string {
	text := oneLine(w.inlineChildren(n))
	href := strings.TrimSpace(attr(n, "href"))
	if text == "" || href == "" || strings.HasPrefix(href, "#") {
		return text
	}
	u, err := w.base.Parse(href)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto" {
		return text
	}
	const longest = 500 // bytes; longer ones are tracking, not addresses
	s := u.String()
	if len(s) > longest {
		return text
	}
	return "[" + strings.NewReplacer("[", "(", "]", ")").Replace(text) + "](" + strings.NewReplacer("(", "%28", ")", "%29", " ", "%20").Replace(s) + ")"
}

// codeBlock is a pre element as it stands.
func codeBlock(n *html.Node) string {
	s := strings.Trim(textOf(n), "\n")
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	lang := ""
	for c := range n.Descendants() {
		for _, class := range strings.Fields(attr(c, "class")) {
			if l, ok := strings.CutPrefix(class, "language-"); ok && lang == "" && strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789+#-") == "" {
				lang = l
			}
		}
	}
	return fence + lang + "\n" + s + "\n" + fence
}

var (
	spaces     = regexp.MustCompile(`[ \t\r\n\f\x{00a0}]+`)
	lineBlanks = regexp.MustCompile(`[ \t]*\n[ \t]*`)
	manyBlanks = regexp.MustCompile(`[ \t]{2,}`)
)

// tidy trims a paragraph and its lines.
func tidy(s string) string {
	s = manyBlanks.ReplaceAllString(s, " ")
	return strings.TrimSpace(lineBlanks.ReplaceAllString(s, "\n"))
}

func oneLine(s string) string { return strings.TrimSpace(spaces.ReplaceAllString(s, " ")) }

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}
