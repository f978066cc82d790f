package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"

	"perch/chat"
	textenc "perch/tools/charset"
	"perch/tools/outside"
)

// partRunes is the size of one part of a long page: a third below the cap of a
// result, since a part ends at a paragraph.
const partRunes = 20_000

// document is a page as text.
type document struct {
	address, title string
	text           string
	note           string // why it is not whole
}

// mediaType is the type of a body: what its header says, unless that says
// nothing.
func mediaType(p *page) string {
	kind, _, err := mime.ParseMediaType(p.contentType)
	if err != nil || kind == "" || kind == "application/octet-stream" {
		kind, _, _ = mime.ParseMediaType(http.DetectContentType(p.body))
	}
	return kind
}

// isText reports whether a media type is read as text.
func isText(kind string) bool {
	if strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") {
		return true
	}
	switch kind {
	case "application/json", "application/xml", "application/javascript", "application/x-javascript",
		"application/yaml", "application/x-yaml", "application/toml", "application/x-sh", "application/rtf",
		"application/x-ndjson", "application/sql", "application/xhtml+xml":
		return true
	}
	return false
}

// readDocument decodes a body and turns HTML into Markdown.
func readDocument(p *page, full bool) document {
	d := document{address: p.url.String(), note: p.cut}
	kind := mediaType(p)
	body := decode(p.body, p.contentType)
	switch kind {
	case "text/html", "application/xhtml+xml":
		root, err := html.Parse(strings.NewReader(body))
		if err != nil { // nested beyond all measure
			d.text = stripTags(body)
			break
		}
		d.title = titleOf(root)
		d.text = toMarkdown(root, p.url, full)
	case "application/json":
		var b bytes.Buffer
		if json.Indent(&b, []byte(body), "", "  ") == nil && b.Len() < 2*len(body)+1000 {
			body = b.String()
		}
		d.text = body
	default:
		d.text = body
	}
	d.title = strings.Join(strings.Fields(outside.Clean(d.title)), " ")
	d.text = strings.TrimSpace(outside.Clean(d.text))
	return d
}

// tags match the tags of a page, for a look at its bytes.
var tags = regexp.MustCompile(`<[^<>]*>`)

// decode makes UTF-8 of a body: by its mark, its header, its own words, or, where
// all are silent, by the look of its bytes.
func decode(body []byte, contentType string) string {
	enc, name, certain := charset.DetermineEncoding(body[:min(len(body), 1024)], contentType)
	// Uncertain is what the page's own words say, or, with the last resort of
	// browsers as its name, a mere guess.
	guess := !certain && (name == "windows-1252" || name == "utf-8" && !utf8.Valid(body))
	if name == "utf-8" && !guess || guess && utf8.Valid(body) {
		return string(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))
	}
	if guess {
		// The Latin letters of tags would lead statistics astray.
		if e, ok := textenc.Detect(tags.ReplaceAll(body[:min(len(body), textenc.Sample)], nil), len(body) <= textenc.Sample); ok && e.Name != textenc.UTF8.Name {
			return e.Decode(body)
		}
		return textenc.Repair(body)
	}
	out, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		return strings.ToValidUTF8(string(body), "\uFFFD")
	}
	return string(out)
}

// part returns one part of a document, from 1.
func (d document) part(n int) (chat.ToolResult, error) {
	parts := splitParts(d.text, partRunes)
	if n > len(parts) {
		return chat.ToolResult{}, fmt.Errorf("%s has %d parts; there is no part %d", d.address, len(parts), n)
	}
	var b strings.Builder
	if d.title != "" {
		fmt.Fprintf(&b, "Title: %s\n", d.title)
	}
	fmt.Fprintf(&b, "Address: %s\n", d.address)
	if len(parts) > 1 {
		fmt.Fprintf(&b, "Part %d of %d", n, len(parts))
		if n < len(parts) {
			fmt.Fprintf(&b, "; ask for page %d to read on", n+1)
		}
		b.WriteString("\n")
	}
	if d.note != "" {
		fmt.Fprintf(&b, "Note: %s\n", d.note)
	}
	text := parts[n-1]
	if text == "" {
		text = "(The page has no text. It may need a browser that runs its scripts.)"
	}
	return chat.ToolResult{
		// The title comes from the page as well, so it stands inside the mark.
		Text:      outside.Mark(d.address, b.String()+"\n"+text),
		Sources:   []chat.Source{{Title: d.title, Path: d.address}},
		Untrusted: true,
	}, nil
}

// splitParts cuts a text into parts of at most size runes, at the end of a
// paragraph, else of a line, where one lies in the last quarter of a part.
// There is always at least one part.
func splitParts(s string, size int) []string {
	var out []string
	for {
		end := offsetOf(s, size)
		if end == len(s) {
			return append(out, s)
		}
		from := offsetOf(s, size*3/4)
		cut := end
		if i := strings.LastIndex(s[from:end], "\n\n"); i >= 0 {
			cut = from + i
		} else if i := strings.LastIndexByte(s[from:end], '\n'); i >= 0 {
			cut = from + i
		}
		out = append(out, s[:cut])
		s = strings.TrimLeft(s[cut:], "\n")
	}
}

// offsetOf is the byte offset of rune n, or the length.
func offsetOf(s string, n int) int {
	off := 0
	for ; n > 0 && off < len(s); n-- {
		_, size := utf8.DecodeRuneInString(s[off:])
		off += size
	}
	return off
}

const (
	// cachedPages is how many documents wait for their next part to be asked for.
	cachedPages = 8
	// cacheFor is how long they wait.
	cacheFor = 5 * time.Minute
)

// pageCache keeps the last documents, so that reading on does not fetch again.
type pageCache struct {
	now func() time.Time
	mu  sync.Mutex // protects list
	// list is the newest last.
	list []cachedPage
}

type cachedPage struct {
	key string
	doc document
	at  time.Time
}

func (c *pageCache) get(key string) (document, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.list {
		if p.key == key && c.now().Sub(p.at) < cacheFor {
			return p.doc, true
		}
	}
	return document{}, false
}

func (c *pageCache) put(key string, d document) {
	c.mu.Lock()
	defer c.mu.Unlock()
	keep := c.list[:0]
	for _, p := range c.list {
		if p.key != key && c.now().Sub(p.at) < cacheFor {
			keep = append(keep, p)
		}
	}
	if len(keep) >= cachedPages {
		keep = keep[len(keep)-cachedPages+1:]
	}
	c.list = append(keep, cachedPage{key, d, c.now()})
}
