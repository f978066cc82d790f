package transcript

import (
	"strings"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
)

// Class is what a piece of code is, as far as colours tell it apart.
type Class uint8

// The classes of code.
const (
	PlainCode Class = iota
	Keyword
	Name // of a function, type or tag
	String
	NumberLit
	Comment
	Operator
	Added
	Removed
)

// Token is a piece of a line of code.
type Token struct {
	Text  string
	Class Class
}

// maxHighlight is the size in bytes above which code stays plain: a lexer takes
// about 1 ms for 10 KB, and a row of a code block is far below.
const maxHighlight = 24 << 10

// Highlight cuts code into lines of classed tokens. Without a known language
// every line is one plain token.
func Highlight(lang, code string) [][]Token {
	var lexer chroma.Lexer
	if lang != "" && len(code) <= maxHighlight {
		lexer = lexers.Get(lang)
	}
	if lexer == nil {
		return plainLines(code)
	}
	it, err := chroma.Coalesce(lexer).Tokenise(nil, code)
	if err != nil {
		return plainLines(code)
	}
	lines := [][]Token{nil}
	for t := it(); t != chroma.EOF; t = it() {
		class := classOf(t.Type)
		for i, part := range strings.Split(t.Value, "\n") {
			if i > 0 {
				lines = append(lines, nil)
			}
			if part == "" {
				continue
			}
			last := &lines[len(lines)-1]
			if n := len(*last); n > 0 && (*last)[n-1].Class == class {
				(*last)[n-1].Text += part
			} else {
				*last = append(*last, Token{Text: part, Class: class})
			}
		}
	}
	want := strings.Count(code, "\n") + 1
	for len(lines) > want && len(lines[len(lines)-1]) == 0 { // lexers end with a newline of their own
		lines = lines[:len(lines)-1]
	}
	if len(lines) != want {
		return plainLines(code) // a lexer that loses text must not
	}
	return lines
}

func plainLines(code string) [][]Token {
	parts := strings.Split(code, "\n")
	lines := make([][]Token, len(parts))
	for i, p := range parts {
		if p != "" {
			lines[i] = []Token{{Text: p}}
		}
	}
	return lines
}

func classOf(t chroma.TokenType) Class {
	switch {
	case t == chroma.GenericInserted:
		return Added
	case t == chroma.GenericDeleted:
		return Removed
	case t.InCategory(chroma.Comment):
		return Comment
	case t.InCategory(chroma.Keyword), t == chroma.OperatorWord:
		return Keyword
	case t.InSubCategory(chroma.LiteralString):
		return String
	case t.InSubCategory(chroma.LiteralNumber):
		return NumberLit
	case t == chroma.NameFunction, t == chroma.NameClass, t == chroma.NameTag, t == chroma.NameBuiltin,
		t == chroma.NameDecorator, t == chroma.NameAttribute, t == chroma.NameNamespace, t == chroma.NameVariable:
		return Name
	case t.InCategory(chroma.Operator):
		return Operator
	}
	return PlainCode
}
