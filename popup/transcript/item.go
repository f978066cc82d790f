package transcript

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"perch/chat"
)

// itemKind is what a stretch of the transcript is.
type itemKind uint8

const (
	itemUser itemKind = iota
	itemText
	itemThinking
	itemTool
	itemLine
	itemFooter
)

// item is a stretch of the transcript that folds and grows as one.
type item struct {
	kind    itemKind
	message string // id, "" while it streams
	at      int    // index of its first row
	count   int    // how many rows it has in the view now

	raw      []byte // text and thinking as they came, for withdrawing
	split    splitter
	numbered int
	done     []*Row // rows of finished chunks
	closed   bool
	// keep says that no history will bring the item: it stays until the user
	// writes again.
	keep bool

	key  string // what folds
	tool *ToolLine
	line LineData
	foot Foot
	user userItem
}

// userItem is what the user wrote and attached.
type userItem struct {
	text   string
	images []chat.Image
}

// textPiece is the size in bytes of one row of the user's own text; a question
// of a megabyte is then drawn only where it is seen.
const textPiece = 2 << 10

// write adds streamed text.
func (it *item) write(s string) {
	it.raw = append(it.raw, s...)
	it.take(it.split.write(s))
}

// close finishes the item: nothing more comes.
func (it *item) close() {
	if it.closed || (it.kind != itemText && it.kind != itemThinking) {
		return
	}
	it.closed = true
	it.take(it.split.finish())
	it.split = splitter{}
}

func (it *item) take(chunks []chunk) {
	for _, c := range chunks {
		var rows []*Row
		rows, it.numbered = c.rows(it.numbered, it.kind == itemThinking)
		it.done = append(it.done, it.owned(rows)...)
	}
}

func (it *item) owned(rows []*Row) []*Row {
	for _, r := range rows {
		r.Message = it.message
	}
	return rows
}

// withdraw drops up to n bytes from the end and returns how many remain to drop.
func (it *item) withdraw(n int) int {
	cut := min(n, len(it.raw))
	raw := it.raw[:len(it.raw)-cut]
	it.raw, it.split, it.numbered, it.done, it.closed = nil, splitter{}, 0, nil, false
	it.write(string(raw))
	return n - cut
}

// tail are the rows of the open chunk.
func (it *item) tail() []*Row {
	c, ok := it.split.rest()
	if !ok || it.closed {
		return nil
	}
	rows, _ := c.rows(it.numbered, it.kind == itemThinking)
	for _, r := range rows {
		r.Open = true
	}
	return it.owned(rows)
}

// rows are all rows of the item. open tells what is folded out.
func (it *item) rows(open func(key string) bool) []*Row {
	switch it.kind {
	case itemUser:
		return it.userRows()
	case itemText:
		return append(it.done[:len(it.done):len(it.done)], it.tail()...)
	case itemThinking:
		line := LineData{Kind: ThinkingLine, Words: countWords(it.raw), Open: open(it.key)}
		rows := []*Row{{Kind: Thinking, Key: it.key, Message: it.message, Line: line, Open: !it.closed}}
		if line.Open {
			rows = append(append(rows, it.done...), it.tail()...)
		}
		return rows
	case itemTool:
		return it.toolRows(open(it.key))
	case itemLine:
		l := it.line
		l.Open = it.key != "" && open(it.key)
		rows := []*Row{{Kind: Line, Key: it.key, Message: it.message, Line: l}}
		if l.Open && l.Text != "" {
			rows = append(rows, outputRows(l.Text, false, "")...)
		}
		return rows
	}
	return []*Row{{Kind: Footer, Message: it.message, Foot: it.foot}}
}

func (it *item) userRows() []*Row {
	var rows []*Row
	for _, p := range pieces(it.user.text, textPiece) {
		rows = append(rows, &Row{Kind: User, Message: it.message, Text: p})
	}
	if len(rows) > 0 {
		rows[0].First, rows[len(rows)-1].Last = true, true
	}
	return append(rows, pictures(it.user.images, it.message)...)
}

func (it *item) toolRows(open bool) []*Row {
	line := *it.tool
	line.Open = open
	rows := []*Row{{Kind: Tool, Key: it.key, Message: it.message, Tool: &line}}
	if open {
		if line.Input != "" {
			rows = append(rows, outputRows(line.Input, true, line.Name)...)
		}
		if line.Result != "" {
			rows = append(rows, outputRows(line.Result, false, "")...)
		}
	}
	return append(rows, pictures(line.Images, it.message)...)
}

// outputRows are the rows of a tool's input or result.
func outputRows(text string, input bool, lang string) []*Row {
	parts := pieces(strings.TrimRight(text, "\n"), textPiece)
	rows := make([]*Row, len(parts))
	block := &Block{text: []byte(text), Closed: true}
	for i, p := range parts {
		rows[i] = &Row{Kind: Output, Text: p, First: i == 0, Last: i == len(parts)-1, Block: block, Dim: input}
	}
	return rows
}

func pictures(images []chat.Image, message string) []*Row {
	var rows []*Row
	for i := range images {
		img := images[i]
		rows = append(rows, &Row{Kind: Picture, Message: message, Image: &img})
	}
	return rows
}

// pieces cuts text into pieces of about size bytes at line ends, or at a
// character where a line is longer.
func pieces(text string, size int) []string {
	var out []string
	for len(text) > size*3/2 {
		at := strings.LastIndexByte(text[:size], '\n')
		skip := 1
		if at <= 0 {
			at, skip = size, 0
			for at > 0 && !utf8.RuneStart(text[at]) {
				at--
			}
		}
		out = append(out, text[:at])
		text = text[at+skip:]
	}
	if text != "" {
		out = append(out, text)
	}
	return out
}

// countWords counts words for the folded thinking line, each Han character or
// kana as one.
func countWords(b []byte) int {
	n, in := 0, false
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		b = b[size:]
		switch {
		case r >= 0x3040 && r <= 0x9fff || r >= 0xac00 && r <= 0xd7a3:
			n, in = n+1, false
		case r == ' ' || r == '\n' || r == '\t':
			in = false
		case !in:
			n, in = n+1, true
		}
	}
	return n
}

// gistKeys are the arguments that say most about a call, the best first.
var gistKeys = []string{"command", "path", "file", "url", "query", "pattern", "text", "name", "prompt", "action", "title"}

// gistLength is the longest gist in characters: what fits beside the name in a
// popup of ordinary width.
const gistLength = 90

// Gist is the part of a call's arguments that says most, on one line.
func Gist(input json.RawMessage) string {
	var args map[string]any
	if json.Unmarshal(input, &args) != nil {
		return oneLine(string(input), gistLength)
	}
	for _, k := range gistKeys {
		if s, ok := args[k].(string); ok && strings.TrimSpace(s) != "" {
			return oneLine(s, gistLength)
		}
	}
	keys := make([]string, 0, len(args))
	for k := range args {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		switch v := args[k].(type) {
		case string:
			if strings.TrimSpace(v) != "" {
				return oneLine(v, gistLength)
			}
		case float64, bool:
			return oneLine(fmt.Sprintf("%s: %v", k, v), gistLength)
		}
	}
	return ""
}

func oneLine(s string, limit int) string {
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-1]) + "…"
}

// readableInput shows arguments one a line, long strings as they are.
func readableInput(input json.RawMessage) string {
	var args map[string]any
	if len(input) == 0 || string(input) == "{}" {
		return ""
	}
	if json.Unmarshal(input, &args) != nil {
		return string(input)
	}
	keys := make([]string, 0, len(args))
	for k := range args {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	var b strings.Builder
	for _, k := range keys {
		switch v := args[k].(type) {
		case string:
			if strings.Contains(v, "\n") {
				fmt.Fprintf(&b, "%s:\n%s\n", k, v)
			} else {
				fmt.Fprintf(&b, "%s: %s\n", k, v)
			}
		default:
			j, err := json.Marshal(v)
			if err != nil {
				j = []byte(fmt.Sprint(v))
			}
			fmt.Fprintf(&b, "%s: %s\n", k, j)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// endTool sets how a call ended.
func endTool(t *ToolLine, result string, isError bool, d time.Duration) {
	t.Result, t.Duration, t.Progress = result, d, ""
	switch {
	case t.State == ToolRefused:
	case isError:
		t.State = ToolFailed
	default:
		t.State = ToolOK
	}
}
