package extract

import (
	"bytes"
	"context"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

// readHTML takes the visible text of a page. Headings become lines with #, and
// each line knows the line of the file that it starts in.
func readHTML(_ context.Context, _ string, b []byte) (Document, error) {
	s, enc, err := decodeHTML(b)
	if err != nil {
		return Document{}, err
	}
	text, title, lines := htmlText(s)
	return Document{Text: text, Title: title, Encoding: enc, Lines: lines, Headings: true}, nil
}

// decodeHTML honours a page's own declaration where the bytes do not tell.
func decodeHTML(b []byte) (string, string, error) {
	if e, name := byMark(b); e != nil {
		return decodeWith(e, name, b)
	}
	if e, name, certain := charset.DetermineEncoding(b[:min(len(b), 1024)], ""); certain && name != "utf-8" {
		return decodeWith(e, name, b)
	}
	return Decode(b)
}

var headingLevels = map[atom.Atom]int{atom.H1: 1, atom.H2: 2, atom.H3: 3, atom.H4: 4, atom.H5: 5, atom.H6: 6}

// unseen are elements whose content is not shown as text.
var unseen = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true, atom.Svg: true,
	atom.Iframe: true, atom.Object: true, atom.Canvas: true, atom.Audio: true, atom.Video: true,
}

var paragraphs = map[atom.Atom]bool{
	atom.P: true, atom.Div: true, atom.Section: true, atom.Article: true, atom.Header: true, atom.Footer: true,
	atom.Blockquote: true, atom.Pre: true, atom.Ul: true, atom.Ol: true, atom.Table: true, atom.Figure: true,
	atom.Main: true, atom.Aside: true, atom.Nav: true, atom.Dl: true, atom.Hr: true, atom.Form: true, atom.Body: true,
}

var lineEnds = map[atom.Atom]bool{
	atom.Br: true, atom.Li: true, atom.Tr: true, atom.Dt: true, atom.Dd: true, atom.Option: true, atom.Caption: true,
	atom.Figcaption: true, atom.Summary: true, atom.Details: true,
}

// htmlText walks the tokens, without a tree: a page of any depth or disorder
// costs what its length costs.
func htmlText(s string) (text, title string, lines []int) {
	z := html.NewTokenizer(strings.NewReader(s))
	f := newFlow()
	hidden := 0 // depth inside unseen elements
	var hiddenBy atom.Atom
	inTitle := false
	line := 1
	for {
		tt := z.Next()
		if tt == html.ErrorToken {
			break // the end, or what cannot be read any further
		}
		raw := z.Raw()
		height := bytes.Count(raw, []byte{'\n'})
		f.now = line
		switch tt {
		case html.TextToken:
			switch {
			case inTitle:
				title += string(z.Text())
			case hidden == 0:
				f.text(string(z.Text()))
			}
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			name, _ := z.TagName()
			a := atom.Lookup(name)
			start := tt == html.StartTagToken
			switch {
			case hidden > 0:
				if a == hiddenBy {
					if start {
						hidden++
					} else if tt == html.EndTagToken {
						hidden--
					}
				}
			case unseen[a] && start:
				hidden, hiddenBy = 1, a
			case a == atom.Title:
				inTitle = start
			case headingLevels[a] > 0:
				f.block()
				if start {
					f.word(strings.Repeat("#", headingLevels[a]))
					f.space = true
				}
			case a == atom.Pre:
				f.block()
				if start {
					f.pre++
				} else if f.pre > 0 {
					f.pre--
				}
			case paragraphs[a]:
				f.block()
			case lineEnds[a]:
				f.end()
				if a == atom.Li && start {
					f.word("-")
					f.space = true
				}
			case a == atom.Td || a == atom.Th:
				if !start && f.line.Len() > 0 {
					f.word("\t")
				}
			}
		}
		line += height
	}
	text, lines = f.done()
	return text, strings.TrimSpace(title), lines
}
