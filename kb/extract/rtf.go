package extract

import (
	"context"
	"strconv"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
)

// rtfHidden are destinations that hold no running text.
var rtfHidden = set("fonttbl colortbl stylesheet info pict object header footer themedata datastore listtable listoverridetable rsidtbl generator xmlnstbl latentstyles")

// readRTF takes the text of a Rich Text file: groups, control words, and
// characters by code page or Unicode number.
func readRTF(_ context.Context, _ string, b []byte) (Document, error) {
	type state struct{ hidden bool }
	stack := []state{{}}
	var out strings.Builder
	var pending []byte
	dec := encodingFor("1252")
	flush := func() {
		if len(pending) > 0 {
			if s, err := dec.NewDecoder().Bytes(pending); err == nil {
				out.Write(s)
			}
			pending = pending[:0]
		}
	}
	skip := 0 // characters that repeat a \u for old readers
	top := func() *state { return &stack[len(stack)-1] }
	for i := 0; i < len(b); i++ {
		switch c := b[i]; c {
		case '{':
			flush()
			stack = append(stack, *top())
			if strings.HasPrefix(string(b[i+1:min(len(b), i+4)]), "\\*") {
				top().hidden = true
			}
		case '}':
			flush()
			if len(stack) > 1 {
				stack = stack[:len(stack)-1]
			}
		case '\r', '\n':
		case '\\':
			word, arg, n := rtfControl(b[i+1:])
			i += n
			switch {
			case word == "'":
				if v, err := strconv.ParseUint(arg, 16, 8); err == nil && !top().hidden {
					if skip > 0 {
						skip--
					} else {
						pending = append(pending, byte(v))
					}
				}
				continue
			case rtfHidden[word]:
				top().hidden = true
			}
			flush()
			if top().hidden {
				if word == "ansicpg" {
					dec = encodingFor(arg)
				}
				continue
			}
			switch word {
			case "ansicpg":
				dec = encodingFor(arg)
			case "par", "line", "sect", "page", "row":
				out.WriteByte('\n')
			case "tab", "cell", "~":
				out.WriteByte(' ')
			case "u":
				if v, err := strconv.Atoi(arg); err == nil {
					out.WriteRune(rune(uint16(v)))
					skip = 1
				}
			case "\\", "{", "}":
				out.WriteString(word)
			}
		default:
			if top().hidden {
				continue
			}
			if skip > 0 {
				skip--
				continue
			}
			pending = append(pending, c)
		}
	}
	flush()
	return Document{Text: out.String()}, nil
}

// rtfControl reads what follows a backslash: a letter word with a number, or one
// sign. n is the number of bytes it takes.
func rtfControl(b []byte) (word, arg string, n int) {
	if len(b) == 0 {
		return "", "", 0
	}
	if b[0] == '\'' {
		if len(b) >= 3 {
			return "'", string(b[1:3]), 3
		}
		return "'", "", len(b)
	}
	for n < len(b) && (b[n] >= 'a' && b[n] <= 'z' || b[n] >= 'A' && b[n] <= 'Z') {
		n++
	}
	if n == 0 {
		return string(b[:1]), "", 1
	}
	word = string(b[:n])
	start := n
	if n < len(b) && b[n] == '-' {
		n++
	}
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	arg = string(b[start:n])
	if n < len(b) && b[n] == ' ' {
		n++
	}
	return word, arg, n
}

// encodingFor returns the decoder of a Windows code page.
func encodingFor(page string) encoding.Encoding {
	names := map[string]string{"932": "shift_jis", "936": "gb18030", "949": "euc-kr", "950": "big5", "65001": "utf-8"}
	name := names[page]
	if name == "" {
		name = "windows-" + page
	}
	if e, err := htmlindex.Get(name); err == nil {
		return e
	}
	e, _ := htmlindex.Get("windows-1252")
	return e
}
