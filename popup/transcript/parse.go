package transcript

import (
	"reflect"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown reads GitHub's flavour and inline mathematics. Nothing is rendered
// by it, so that no HTML of a model is ever interpreted.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.Linkify, extension.TaskList),
	goldmark.WithParserOptions(parser.WithInlineParsers(util.Prioritized(mathParser{}, 90))),
)

// rows turns a chunk into rows. numbered is the number that an ordered list may
// go on from, 0 for none; the new one is returned.
func (c chunk) rows(numbered int, dim bool) ([]*Row, int) {
	switch c.kind {
	case chunkCode:
		r := &Row{Kind: Code, Text: trimNewline(c.src), Lang: c.lang, Block: c.block, First: c.first, Last: c.last, Dim: dim}
		return []*Row{r}, 0
	case chunkMath:
		return []*Row{{Kind: Math, Text: ReadableMath(strings.TrimSpace(c.src)), Dim: dim}}, 0
	}
	src := []byte(c.src)
	w := &walker{src: src, numbered: numbered, dim: dim}
	doc := markdown.Parser().Parse(text.NewReader(src))
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		w.block(n)
	}
	return w.rows, w.last
}

// walker turns the blocks of a parsed chunk into rows.
type walker struct {
	src           []byte
	rows          []*Row
	indent, quote int
	marker        Marker // of the list item whose first block comes next
	numbered      int    // number before the chunk's first item
	last          int    // number of the last top-level ordered item
	dim           bool
}

func (w *walker) add(r *Row) {
	r.Indent, r.Quote, r.Dim = w.indent, w.quote, w.dim
	r.Marker, w.marker = w.marker, Marker{}
	w.rows = append(w.rows, r)
}

func (w *walker) block(n ast.Node) {
	if n.Kind() != ast.KindList {
		w.last = 0
	}
	switch n := n.(type) {
	case *ast.Heading:
		w.add(&Row{Kind: Heading, Level: n.Level, Runs: w.inlines(n)})
	case *ast.ThematicBreak:
		w.add(&Row{Kind: Rule})
	case *ast.FencedCodeBlock:
		w.code(n.Lines(), string(n.Language(w.src)))
	case *ast.CodeBlock:
		w.code(n.Lines(), "")
	case *ast.HTMLBlock:
		w.code(n.Lines(), "html")
	case *ast.Blockquote:
		w.quote++
		w.children(n)
		w.quote--
	case *ast.List:
		w.list(n)
	case *east.Table:
		w.add(&Row{Kind: Table, Table: w.table(n)})
	case *ast.Paragraph, *ast.TextBlock:
		runs := w.inlines(n)
		if len(runs) > 0 || w.marker.Kind != NoMarker {
			w.add(&Row{Kind: Paragraph, Runs: runs})
		}
	default:
		w.children(n)
	}
}

func (w *walker) children(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		w.block(c)
	}
}

func (w *walker) list(n *ast.List) {
	number := n.Start
	if n.IsOrdered() && w.indent == 0 && w.numbered > 0 && (number <= 1 || number == w.numbered+1) {
		number = w.numbered + 1
	}
	w.numbered = 0
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		m := Marker{Kind: Bullet}
		if n.IsOrdered() {
			m = Marker{Kind: Number, N: number}
			number++
		}
		if box := checkBox(item); box != nil {
			m = Marker{Kind: Unchecked}
			if box.IsChecked {
				m.Kind = Checked
			}
		}
		w.marker = m
		w.indent++
		if item.FirstChild() == nil {
			w.add(&Row{Kind: Paragraph})
		}
		w.children(item)
		w.indent--
	}
	w.last = 0
	if n.IsOrdered() && w.indent == 0 {
		w.last = number - 1
	}
}

func checkBox(item ast.Node) *east.TaskCheckBox {
	first := item.FirstChild()
	if first == nil {
		return nil
	}
	box, _ := first.FirstChild().(*east.TaskCheckBox)
	return box
}

// code adds a code block that goldmark found (in a list, indented, HTML).
func (w *walker) code(lines *text.Segments, lang string) {
	var b strings.Builder
	for i := range lines.Len() {
		seg := lines.At(i)
		b.Write(seg.Value(w.src))
	}
	s := trimNewline(b.String())
	w.add(&Row{Kind: Code, Text: s, Lang: lang, First: true, Last: true,
		Block: &Block{Lang: lang, text: []byte(s), Closed: true}})
}

func (w *walker) table(n *east.Table) *TableData {
	t := &TableData{}
	for _, a := range n.Alignments {
		switch a {
		case east.AlignCenter:
			t.Align = append(t.Align, Centre)
		case east.AlignRight:
			t.Align = append(t.Align, Right)
		default:
			t.Align = append(t.Align, Left)
		}
	}
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		var cells [][]Run
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			cells = append(cells, w.inlines(c))
		}
		if r.Kind() == east.KindTableHeader {
			t.Head = cells
		} else {
			t.Rows = append(t.Rows, cells)
		}
	}
	return t
}

// inlines are the runs of a block's inline content.
func (w *walker) inlines(n ast.Node) []Run {
	in := inliner{src: w.src}
	in.walk(n, Run{})
	for len(in.runs) > 0 { // a line break at the end is none
		last := &in.runs[len(in.runs)-1]
		last.Text = strings.TrimRight(last.Text, "\n")
		if last.Text != "" {
			break
		}
		in.runs = in.runs[:len(in.runs)-1]
	}
	return in.runs
}

type inliner struct {
	src  []byte
	runs []Run
}

// add appends text, joining it to the run before when the style is the same.
func (in *inliner) add(s string, style Run) {
	if s == "" {
		return
	}
	if n := len(in.runs); n > 0 {
		last := in.runs[n-1]
		last.Text = ""
		if last == style {
			in.runs[n-1].Text += s
			return
		}
	}
	style.Text = s
	in.runs = append(in.runs, style)
}

func (in *inliner) walk(n ast.Node, style Run) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		st := style
		switch c := c.(type) {
		case *ast.Text:
			in.add(unescape(c.Segment.Value(in.src)), st)
			if c.SoftLineBreak() || c.HardLineBreak() {
				in.add("\n", st)
			}
		case *ast.String:
			in.add(string(c.Value), st)
		case *ast.CodeSpan:
			st.Code = true
			in.codeSpan(c, st)
		case *ast.Emphasis:
			if c.Level >= 2 {
				st.Bold = true
			} else {
				st.Italic = true
			}
			in.walk(c, st)
		case *east.Strikethrough:
			st.Strike = true
			in.walk(c, st)
		case *ast.Link:
			st.Link = string(c.Destination)
			in.walk(c, st)
		case *ast.AutoLink:
			st.Link = string(c.URL(in.src))
			if c.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(st.Link, "mailto:") {
				st.Link = "mailto:" + st.Link
			}
			in.add(string(c.Label(in.src)), st)
		case *ast.Image:
			in.image(c, st)
		case *ast.RawHTML:
			in.html(c, st)
		case *mathNode:
			st.Italic = true
			in.add(ReadableMath(c.tex), st)
		case *east.TaskCheckBox:
		default:
			in.walk(c, st)
		}
	}
}

func (in *inliner) codeSpan(c *ast.CodeSpan, st Run) {
	for t := c.FirstChild(); t != nil; t = t.NextSibling() {
		if t, ok := t.(*ast.Text); ok {
			in.add(strings.ReplaceAll(string(t.Segment.Value(in.src)), "\n", " "), st)
		}
	}
}

// image shows an image of the text as its words and a link: rendering an answer
// never causes a request, since an address can carry the conversation out.
func (in *inliner) image(c *ast.Image, st Run) {
	alt := inliner{src: in.src}
	alt.walk(c, Run{})
	words := ""
	for _, r := range alt.runs {
		words += r.Text
	}
	st.Link = string(c.Destination)
	if words == "" {
		words = st.Link
	}
	in.add("🖼 "+words, st)
}

// html shows a tag as it was written, but for line breaks.
func (in *inliner) html(c *ast.RawHTML, st Run) {
	var b strings.Builder
	for i := range c.Segments.Len() {
		seg := c.Segments.At(i)
		b.Write(seg.Value(in.src))
	}
	switch strings.ToLower(strings.ReplaceAll(b.String(), " ", "")) {
	case "<br>", "<br/>":
		in.add("\n", st)
	default:
		in.add(b.String(), st)
	}
}

// unescape resolves backslash escapes and entities of running text.
func unescape(b []byte) string {
	return string(util.UnescapePunctuations(util.ResolveEntityNames(util.ResolveNumericReferences(b))))
}

func deepSame(r, o *Row) bool {
	a, b := *r, *o
	a.Message, b.Message = "", ""
	return reflect.DeepEqual(a, b)
}
