package tools

import (
	"context"
	_ "embed" // the description
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"unicode/utf8"

	"perch/chat"
	"perch/tools/outside"
)

//go:embed search_files.md
var searchFilesText string

// Bounds of one search.
const (
	// maxHits is how many lines one call shows; more are a sign of a pattern that
	// is too wide.
	maxHits = 250
	// maxHitChars is how much of a line is shown, in characters.
	maxHitChars = 300
)

type searchFiles struct{ files }

type searchFilesInput struct {
	Pattern    string `json:"pattern"`
	Path       string `json:"path"`
	Glob       string `json:"glob"`
	Literal    bool   `json:"literal"`
	IgnoreCase bool   `json:"ignore_case"`
	Context    int    `json:"context"`
	FilesOnly  bool   `json:"files_only"`
	All        bool   `json:"all"`
}

// Definition describes the tool.
func (searchFiles) Definition() chat.ToolDef {
	return chat.ToolDef{Name: "search_files", Description: searchFilesText, Schema: json.RawMessage(`{
"type":"object",
"properties":{
"pattern":{"type":"string","minLength":1},
"path":{"type":"string"},
"glob":{"type":"string"},
"literal":{"type":"boolean"},
"ignore_case":{"type":"boolean"},
"context":{"type":"integer","minimum":0,"maximum":20},
"files_only":{"type":"boolean"},
"all":{"type":"boolean"}},
"required":["pattern"],
"additionalProperties":false}`)}
}

// Needs reads one folder.
func (t searchFiles) Needs(_ context.Context, input json.RawMessage, env chat.Env) ([]chat.Need, error) {
	var in searchFilesInput
	if err := decode(input, &in); err != nil {
		return nil, err
	}
	if _, err := newMatcher(in.Pattern, in.Literal, in.IgnoreCase); err != nil {
		return nil, err
	}
	if in.Path == "" {
		in.Path = "."
	}
	n, err := t.need(env, "search_files", chat.NeedRead, in.Path)
	return []chat.Need{n}, err
}

// Execute searches. Files are read by as many workers as there are cores; the
// results come in the order of names, so that the same call has the same answer.
func (t searchFiles) Execute(ctx context.Context, input json.RawMessage, env chat.Env) (chat.ToolResult, error) {
	var in searchFilesInput
	if err := decode(input, &in); err != nil {
		return chat.ToolResult{}, err
	}
	if in.Path == "" {
		in.Path = "."
	}
	m, err := newMatcher(in.Pattern, in.Literal, in.IgnoreCase)
	if err != nil {
		return chat.ToolResult{}, err
	}
	start, err := t.resolve(env, "search_files", in.Path)
	if err != nil {
		return chat.ToolResult{}, err
	}
	fi, err := os.Stat(start)
	if err != nil {
		return chat.ToolResult{}, explainOpen(start, err)
	}
	s := search{in: in, m: m, walker: walker{secret: t.places, all: in.All}}
	if fi.IsDir() {
		err = s.tree(ctx, start)
	} else {
		s.add(searchFile(ctx, start, in.Path, m, in.Context, maxHits))
	}
	if err != nil {
		return chat.ToolResult{}, err
	}
	return chat.ToolResult{Text: outside.Mark("search in "+start, s.text())}, nil
}

// search gathers the results of one call.
type search struct {
	in     searchFilesInput
	m      *matcher
	walker walker

	out   strings.Builder
	chars int
	hits  int
	files int
	full  bool // the cap was reached
}

// tree searches below a folder. The walk hands files to workers over a channel
// and their answers to the collector in the order of the walk.
func (s *search) tree(ctx context.Context, start string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type job struct {
		f    found
		done chan fileHits
	}
	jobs := make(chan job)
	order := make(chan job, 4*runtime.NumCPU()) // how far workers may run ahead
	for range runtime.NumCPU() {
		go func() {
			for j := range jobs {
				j.done <- searchFile(ctx, j.f.path, j.f.rel, s.m, s.in.Context, maxHits)
			}
		}()
	}
	walked := make(chan error, 1)
	go func() {
		defer close(order)
		defer close(jobs)
		walked <- s.walker.walk(ctx, start, func(f found) bool {
			if f.dir || !f.info.Type().IsRegular() || s.in.Glob != "" && !matchGlob(s.in.Glob, f.rel) {
				return true
			}
			j := job{f, make(chan fileHits, 1)}
			select {
			case order <- j:
			case <-ctx.Done():
				return false
			}
			select {
			case jobs <- j:
				return true
			case <-ctx.Done():
				j.done <- fileHits{}
				return false
			}
		})
	}()
	for j := range order {
		if h := <-j.done; !s.full && !s.add(h) {
			cancel() // what is left is only drained
		}
	}
	err := <-walked
	if s.full {
		return nil
	}
	return err
}

// add takes the hits of one file and reports whether there is room for more.
func (s *search) add(h fileHits) bool {
	if len(h.lines) == 0 {
		return true
	}
	s.files++
	if s.in.FilesOnly {
		if s.files > maxListed {
			s.full = true
			return false
		}
		fmt.Fprintf(&s.out, "%s (%d)\n", h.name, h.count)
		return true
	}
	last := 0
	for _, l := range h.lines {
		text := clip(l.text)
		n := utf8.RuneCountInString(text) + len(h.name) + 10
		if l.hit && s.hits == maxHits || s.chars+n > outside.MaxChars {
			s.full = true
			return false
		}
		sep := ':'
		if !l.hit {
			sep = '-'
		} else {
			s.hits++
		}
		if s.in.Context > 0 && last > 0 && l.number > last+1 {
			s.out.WriteString("--\n")
		}
		last = l.number
		fmt.Fprintf(&s.out, "%s%c%d%c %s\n", h.name, sep, l.number, sep, text)
		s.chars += n
	}
	s.full = h.count > maxHits
	return !s.full
}

// clip cuts a long line.
func clip(s string) string {
	n := 0
	for i := range s {
		if n == maxHitChars {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

func (s *search) text() string {
	text := outside.Clean(s.out.String())
	switch {
	case s.full:
		text += "[there are more: narrow the pattern, the path or the glob]"
	case s.files == 0:
		text += "[no match]"
	}
	if s.walker.skipped > 0 {
		text += fmt.Sprintf("\n[%d secret places were not searched]", s.walker.skipped)
	}
	return text
}
