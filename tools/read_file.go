package tools

import (
	"bufio"
	"bytes"
	"context"
	_ "embed" // the description
	"encoding/json"
	"errors"
	"fmt"
	"image"
	_ "image/gif"  // sizes of pictures
	_ "image/jpeg" // sizes of pictures
	_ "image/png"  // sizes of pictures
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"perch/chat"
	"perch/tools/charset"
	"perch/tools/outside"
)

//go:embed read_file.md
var readFileText string

// Bounds of a read.
const (
	// maxImageBytes is the largest picture that is sent: vendors take 5 MB.
	maxImageBytes = 5 << 20
	// maxLineChars is how much of one line is shown, in characters: a longer one
	// is data, not text.
	maxLineChars = 4000
)

// imageTypes are the formats that models see.
var imageTypes = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

// documents are files whose text an [Extractor] reads.
var documents = map[string]bool{
	".pdf": true, ".docx": true, ".xlsx": true, ".pptx": true, ".odt": true, ".ods": true, ".odp": true, ".epub": true, ".rtf": true,
}

type readFile struct{ files }

type readFileInput struct {
	Path   string `json:"path"`
	Offset int    `json:"offset"`
	Limit  int    `json:"limit"`
}

// Definition describes the tool.
func (readFile) Definition() chat.ToolDef {
	return chat.ToolDef{Name: "read_file", Description: readFileText, Schema: json.RawMessage(`{
"type":"object",
"properties":{
"path":{"type":"string","minLength":1},
"offset":{"type":"integer","minimum":1,"description":"first line"},
"limit":{"type":"integer","minimum":1,"description":"number of lines"}},
"required":["path"],
"additionalProperties":false}`)}
}

// Needs reads one path.
func (t readFile) Needs(_ context.Context, input json.RawMessage, env chat.Env) ([]chat.Need, error) {
	var in readFileInput
	if err := decode(input, &in); err != nil {
		return nil, err
	}
	n, err := t.need(env, "read_file", chat.NeedRead, in.Path)
	return []chat.Need{n}, err
}

// Execute reads the file.
func (t readFile) Execute(ctx context.Context, input json.RawMessage, env chat.Env) (chat.ToolResult, error) {
	var in readFileInput
	if err := decode(input, &in); err != nil {
		return chat.ToolResult{}, err
	}
	path, err := t.resolve(env, "read_file", in.Path)
	if err != nil {
		return chat.ToolResult{}, err
	}
	file, fi, err := openRegular(path)
	if err != nil {
		return chat.ToolResult{}, err
	}
	defer file.Close()
	head := make([]byte, charset.Sample)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return chat.ToolResult{}, err
	}
	head = head[:n]
	if mime := http.DetectContentType(head); imageTypes[mime] {
		return picture(path, mime, fi.Size(), io.MultiReader(bytes.NewReader(head), file))
	}
	if documents[strings.ToLower(filepath.Ext(path))] && t.extract != nil {
		return t.document(ctx, path, in)
	}
	enc, ok := charset.Detect(head, fi.Size() <= int64(n))
	if !ok {
		return chat.ToolResult{}, fmt.Errorf("%s is no text (%s, %s): look at it with run_command, for instance with file or xxd", path, http.DetectContentType(head), size(fi.Size()))
	}
	if fi.Size() <= maxEditBytes {
		c, err := load(path)
		if err != nil {
			return chat.ToolResult{}, err
		}
		if e, ok := charset.Detect(c.bytes, true); ok {
			enc = e // with the whole in view
		}
		env.Remember(seenKey(path), digest(c.bytes))
		return show(path, strings.NewReader(enc.Decode(c.bytes)), in, enc, fi.Size())
	}
	return show(path, enc.Reader(io.MultiReader(bytes.NewReader(head), file)), in, enc, fi.Size())
}

// picture returns an image as an image.
func picture(path, mime string, bytesLong int64, r io.Reader) (chat.ToolResult, error) {
	if bytesLong > maxImageBytes {
		return chat.ToolResult{}, fmt.Errorf("the picture %s has %s, more than the %s that a model takes: make it smaller with run_command", path, size(bytesLong), size(maxImageBytes))
	}
	b, err := io.ReadAll(io.LimitReader(r, maxImageBytes+1))
	if err != nil {
		return chat.ToolResult{}, err
	}
	img := chat.Image{MIME: mime, Name: filepath.Base(path), Size: len(b), Data: b}
	if c, _, err := image.DecodeConfig(bytes.NewReader(b)); err == nil {
		img.Width, img.Height = c.Width, c.Height
	}
	return chat.ToolResult{Text: fmt.Sprintf("%s: %s, %s", path, mime, size(int64(len(b)))), Images: []chat.Image{img}}, nil
}

// document returns the text of a PDF or office file.
func (t readFile) document(ctx context.Context, path string, in readFileInput) (chat.ToolResult, error) {
	text, err := t.extract(ctx, path)
	if err != nil {
		return chat.ToolResult{}, fmt.Errorf("read the text of %s: %w", path, err)
	}
	if strings.TrimSpace(text) == "" {
		return chat.ToolResult{}, fmt.Errorf("%s has no text: it may be a scan", path)
	}
	return show(path, strings.NewReader(text), in, charset.UTF8, int64(len(text)))
}

// show returns lines of a text until the cap.
func show(path string, r io.Reader, in readFileInput, enc charset.Encoding, total int64) (chat.ToolResult, error) {
	first := max(1, in.Offset)
	br := bufio.NewReaderSize(r, 64<<10)
	var b strings.Builder
	line, chars, cut, more := 1, 0, 0, false
	for {
		text, long, err := readLine(br, line >= first)
		if err != nil && !errors.Is(err, io.EOF) {
			return chat.ToolResult{}, fmt.Errorf("read %s: %w", path, err)
		}
		if text == "" && !long && err != nil {
			break
		}
		if line >= first {
			n := utf8.RuneCountInString(text)
			if chars+n > outside.MaxChars || in.Limit > 0 && line >= first+in.Limit {
				more = true
				break
			}
			b.WriteString(text)
			chars += n
			if long {
				cut++
			}
		}
		line++
		if err != nil {
			break
		}
	}
	last := line - 1
	if last < first {
		if last == 0 {
			return chat.ToolResult{Text: fmt.Sprintf("[%s is empty]", path)}, nil
		}
		return chat.ToolResult{}, fmt.Errorf("%s ends with line %d, before line %d", path, last, first)
	}
	var notes []string
	if more || first > 1 {
		notes = append(notes, fmt.Sprintf("lines %d to %d", first, last))
	}
	if more {
		notes = append(notes, fmt.Sprintf("the file has %s; go on with offset %d", size(total), last+1))
	}
	if cut > 0 {
		notes = append(notes, fmt.Sprintf("%d lines longer than %d characters were cut", cut, maxLineChars))
	}
	if enc.Name != charset.UTF8.Name {
		notes = append(notes, "the file is written in "+enc.Name)
	}
	text := outside.Clean(b.String())
	if len(notes) > 0 {
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		text += "[" + strings.Join(notes, "; ") + "]"
	}
	return chat.ToolResult{Text: outside.Mark("file "+path, text)}, nil
}

// readLine reads a line with its end; what goes beyond maxLineChars is dropped
// and long is true. A line that is not wanted is skipped without being kept.
func readLine(br *bufio.Reader, wanted bool) (text string, long bool, err error) {
	var b []byte
	for {
		part, err := br.ReadSlice('\n')
		if room := maxLineChars*utf8.UTFMax - len(b); wanted && room > 0 {
			b = append(b, part[:min(len(part), room)]...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			if !wanted {
				b = append(b[:0], 'x') // something is there
			}
			continue
		}
		if !wanted && len(part) > 0 {
			b = append(b[:0], 'x')
		}
		s := strings.ToValidUTF8(string(b), "")
		if wanted && utf8.RuneCountInString(s) > maxLineChars {
			cut := 0
			for i := range s {
				if cut == maxLineChars {
					s = s[:i] + "…\n"
					break
				}
				cut++
			}
			long = true
		}
		return s, long, err
	}
}
