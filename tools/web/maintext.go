package web

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// isBlock reports whether an element stands on lines of its own.
func isBlock(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Body, atom.Center, atom.Dd, atom.Details,
		atom.Dialog, atom.Div, atom.Dl, atom.Dt, atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer, atom.Form,
		atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Header, atom.Hgroup, atom.Hr, atom.Li, atom.Main,
		atom.Menu, atom.Nav, atom.Ol, atom.P, atom.Pre, atom.Section, atom.Summary, atom.Table, atom.Ul,
		atom.Tbody, atom.Thead, atom.Tr, atom.Td, atom.Th, atom.Caption:
		return true
	}
	return false
}

// hiddenStyle matches styles that keep text from the reader's eyes. What a person
// does not see, a model shall not read.
var hiddenStyle = regexp.MustCompile(`(?i)(display\s*:\s*none|visibility\s*:\s*(hidden|collapse)|font-size\s*:\s*0(px|pt|em|rem|%)?\s*(;|!|$)|opacity\s*:\s*0(\.0+)?\s*(;|!|$))`)

// clutterName matches ids and classes of what surrounds a text.
var clutterName = regexp.MustCompile(`(?i)(^|[\s_-])(nav|navbar|navigation|menu|sidebar|breadcrumbs?|cookies?|consent|banner|newsletter|promo|advert|ads?|share|sharing|social|related|comments?|popup|modal|footer|masthead|skip-link)([\s_-]|$)`)

// dropped reports whether a node is left out of the text.
func (w *writer) dropped(n *html.Node) bool {
	if n.Type == html.CommentNode {
		return true
	}
	if n.Type != html.ElementNode {
		return false
	}
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Math, atom.Iframe, atom.Object, atom.Embed,
		atom.Canvas, atom.Audio, atom.Video, atom.Head, atom.Select, atom.Input, atom.Button, atom.Textarea, atom.Link, atom.Meta:
		return true
	}
	if isHidden(n) {
		return true
	}
	return !w.full && isClutter(n)
}

func isHidden(n *html.Node) bool {
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return true
		case "aria-hidden":
			return a.Val == "true"
		case "style":
			if hiddenStyle.MatchString(a.Val) {
				return true
			}
		}
	}
	return false
}

// isClutter reports navigation and the like. Names only count where the element
// is small: a theme may call its whole page "has-sidebar".
func isClutter(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Nav, atom.Aside, atom.Footer, atom.Dialog:
		return true
	case atom.Body, atom.Main, atom.Article, atom.Html:
		return false
	}
	switch attr(n, "role") {
	case "navigation", "banner", "contentinfo", "complementary", "search", "dialog", "alertdialog", "menu":
		return true
	}
	if !clutterName.MatchString(attr(n, "class")) && !clutterName.MatchString(attr(n, "id")) {
		return false
	}
	return proseOf(n) < smallProse
}

// smallProse is how much prose makes an element more than clutter, in runes.
const smallProse = 800

// minProse is the shortest run of text that counts as prose, in runes: menus
// consist of shorter ones.
const minProse = 40

// proseOf counts the text below a node that reads like prose or code: paragraphs
// and cells that are long enough and are not mostly links.
func proseOf(n *html.Node) int {
	total := 0
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type != html.ElementNode {
			return
		}
		switch n.DataAtom {
		case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Nav, atom.Footer, atom.Aside:
			return
		}
		if isHidden(n) {
			return
		}
		own, links := 0, 0
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			switch {
			case c.Type == html.TextNode:
				own += utf8.RuneCountInString(strings.TrimSpace(c.Data))
			case c.Type == html.ElementNode && !isBlock(c):
				t := utf8.RuneCountInString(strings.TrimSpace(textOf(c)))
				if c.DataAtom == atom.A {
					links += t
				} else {
					own += t
				}
			case c.Type == html.ElementNode:
				walk(c)
			}
		}
		if own >= minProse && own > links || n.DataAtom == atom.Pre {
			total += own + links
		}
	}
	walk(n)
	return total
}

// mainShare is how much of its parent's prose a part must hold to be the main
// text alone.
const mainShare = 0.75

// mainContent finds the smallest part of a page that holds most of its prose. A
// page that marks its main part is believed, if there is prose in it.
func mainContent(body *html.Node) *html.Node {
	all := proseOf(body)
	if all < smallProse/4 {
		return body // a list of links, an application, an empty page
	}
	best := body
	for n := range body.Descendants() {
		if n.DataAtom == atom.Main || n.DataAtom == atom.Article || attr(n, "role") == "main" {
			if float64(proseOf(n)) >= float64(all)/2 {
				best = n
				break
			}
		}
	}
	for {
		prose := proseOf(best)
		var next *html.Node
		for c := best.FirstChild; c != nil; c = c.NextSibling {
			if c.Type == html.ElementNode && descends(c) && float64(proseOf(c)) >= mainShare*float64(prose) {
				next = c
				break
			}
		}
		if next == nil {
			return best
		}
		best = next
	}
}

// descends reports whether the main text may be looked for inside an element: a
// long table or list is content, not a frame around it.
func descends(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Div, atom.Section, atom.Article, atom.Main, atom.Center, atom.Form:
		return true
	}
	return false
}
