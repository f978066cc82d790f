// Package transcript is the pure model of a conversation as the popup shows it:
// it folds a snapshot and the events after it into a flat list of rows, one row a
// block of Markdown, tool line, notice and so on. It knows no window toolkit.
//
// What it guarantees: a row that is finished never changes again and keeps its
// identity (its pointer), so that a view has to draw only what is new; the cost
// of one more piece of a streaming answer depends on the open block alone, not
// on the length of the answer; text that a failed attempt had streamed is
// withdrawn to the byte.
package transcript

import (
	"time"

	"perch/chat"
)

// Kind says what a row shows.
type Kind uint8

// The kinds of rows.
const (
	// User is a piece of what the user wrote, plain text in a bubble.
	User Kind = iota
	// Paragraph is running text, also as a list item or in a quotation.
	Paragraph
	// Heading is a heading; Level says which.
	Heading
	// Code is a piece of a code block. A long block is several rows, of which
	// First and Last tell the ends.
	Code
	// Math is displayed mathematics as readable text.
	Math
	// Table is a whole table.
	Table
	// Rule is a thematic break.
	Rule
	// Picture is an image that the run itself produced or the user attached.
	Picture
	// Thinking is the foldable line above the model's thinking.
	Thinking
	// Tool is the foldable line of a tool call.
	Tool
	// Output is a piece of a tool's input or result, shown when its line is open.
	Output
	// Line is a line about the run: a notice, retry, compaction, interruption,
	// refusal or error.
	Line
	// Footer closes an answer: what can be done with it.
	Footer
)

// Run is a piece of running text in one style. A "\n" in Text breaks the line.
type Run struct {
	Text   string
	Bold   bool
	Italic bool
	Code   bool
	Strike bool
	// Link is where a click leads, "" for plain text.
	Link string
}

// Row is one row of the view. Rows are read-only for everybody but this package.
type Row struct {
	Kind Kind
	// Message is the id of the message that the row belongs to, "" while it
	// streams.
	Message string
	// Key names what folds: the id of a tool call, or of a piece of thinking.
	Key string
	// First and Last tell the ends of a bubble or block that spans several rows.
	First, Last bool
	// Open is true while more may be added to the row.
	Open bool

	// Runs are the content of text rows.
	Runs []Run
	// Level is the level of a heading, 1…6; Indent the depth in lists; Quote the
	// depth in quotations; Marker a list item's bullet, number or box.
	Level, Indent, Quote int
	Marker               Marker
	// Dim marks rows that belong to thinking.
	Dim bool

	// Text is the plain content of User, Code, Math and Output rows, without a
	// final newline. Lang is a code block's language as written; Block leads to
	// the whole of the block, for copying.
	Text  string
	Lang  string
	lines [][]Token // of Code rows, made when the row is first drawn
	Block *Block

	Table *TableData
	Tool  *ToolLine
	Line  LineData
	Image *chat.Image
	Foot  Foot
}

// MarkerKind says what stands before a list item.
type MarkerKind uint8

// The markers of list items.
const (
	NoMarker MarkerKind = iota
	Bullet
	Number
	Unchecked
	Checked
)

// Marker stands before a list item. N is the number of an ordered item.
type Marker struct {
	Kind MarkerKind
	N    int
}

// Block is a code block as a whole. Text grows while the block streams.
type Block struct {
	Lang string
	text []byte
	// Closed says that nothing more will come.
	Closed bool
}

// Text is the whole code, without a final newline.
func (b *Block) Text() string { return trimNewline(string(b.text)) }

// Align is the alignment of a table column.
type Align uint8

// The alignments of table columns.
const (
	Left Align = iota
	Centre
	Right
)

// TableData is a table. Head and each of Rows have one cell a column.
type TableData struct {
	Align []Align
	Head  [][]Run
	Rows  [][][]Run
}

// ToolState is how far a tool call has come.
type ToolState uint8

// The states of a tool call.
const (
	ToolRunning ToolState = iota
	ToolAsking            // waits for the user's answer
	ToolOK
	ToolFailed
	ToolRefused
	ToolInterrupted
)

// ToolLine is the line of a tool call.
type ToolLine struct {
	ID       string
	Name     string
	Gist     string // the argument that says most, on one line
	Input    string // the arguments, readable
	Result   string
	State    ToolState
	Progress string
	Duration time.Duration
	Images   []chat.Image
	Sources  []chat.Source
	Open     bool // folded out
	Run      string
}

// LineKind says what a Line row is about.
type LineKind uint8

// The kinds of lines.
const (
	NoticeLine LineKind = iota
	RetryLine
	CompactionLine
	InterruptedLine
	RefusalLine
	LimitLine // the output limit cut the answer off
	ErrorLine
	QueuedLine // a message that waits for the run
	ThinkingLine
)

// LineData is the content of a Line or Thinking row.
type LineData struct {
	Kind LineKind
	// ID, Args and Text are of a notice; Text also of a queued message and a
	// compaction's summary.
	ID   string
	Args []string
	Text string
	// Err is of an error line.
	Err *chat.Error
	// Attempt, Reason and Wait are of a retry; Since is when it was announced.
	Attempt int
	Reason  string
	Wait    time.Duration
	Since   time.Time
	// Before and After are a compaction's tokens; Undone says it was taken back;
	// CanUndo that it is the newest one.
	Before, After   int
	Undone, CanUndo bool
	// Open says that the line is folded out (thinking, compaction).
	Open bool
	// Words counts the words of folded thinking.
	Words int
}

// Foot is what the footer of an answer knows.
type Foot struct {
	Text  string // the whole answer, as Markdown
	Model string
	Usage chat.Usage
	Run   string
	// Question is the id of the user's message that the answer belongs to.
	Question string
	// Tools says that the run used tools, so that it may be reverted.
	Tools  bool
	Newest bool
}

// Tokens are the lines of a Code row in classed pieces. They are made when the
// row is first drawn: most rows of a long session never are.
func (r *Row) Tokens() [][]Token {
	if r.lines == nil {
		r.lines = Highlight(r.Lang, r.Text)
	}
	return r.lines
}

// Same reports whether two rows show the same thing, so that the view may keep
// what it drew. Rows that hold pictures or folded state are compared by content.
func (r *Row) Same(o *Row) bool {
	if r.Kind != o.Kind || r.Key != o.Key || r.First != o.First || r.Last != o.Last || r.Open != o.Open ||
		r.Level != o.Level || r.Indent != o.Indent || r.Quote != o.Quote || r.Marker != o.Marker || r.Dim != o.Dim ||
		r.Text != o.Text || r.Lang != o.Lang || len(r.Runs) != len(o.Runs) {
		return false
	}
	for i := range r.Runs {
		if r.Runs[i] != o.Runs[i] {
			return false
		}
	}
	switch r.Kind {
	case Table, Tool, Picture, Footer:
		return deepSame(r, o)
	case Line, Thinking:
		return deepSame(r, o)
	}
	return true
}
