// Package know holds the tool knowledge_search, which looks into the user's own
// documents.
package know

import (
	"context"
	_ "embed" // the description
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"perch/chat"
	"perch/tools/outside"
)

//go:embed knowledge_search.md
var description string

// Searcher is what the tool needs of the knowledge base. k is the most hits
// wanted; 0 is the user's setting.
type Searcher interface {
	Search(ctx context.Context, query string, k int) ([]chat.SearchHit, error)
}

const (
	// maxHits is the most passages that one call may ask for.
	maxHits = 30
	// maxPassage bounds one passage, in runes: some three chunks joined.
	maxPassage = 4000
)

type search struct{ base Searcher }

// Search returns the tool knowledge_search.
func Search(s Searcher) chat.Tool { return search{s} }

type input struct {
	Query string `json:"query"`
	K     int    `json:"k"`
}

// Definition describes the tool.
func (search) Definition() chat.ToolDef {
	return chat.ToolDef{Name: "knowledge_search", Description: description, Schema: json.RawMessage(`{
"type":"object",
"properties":{
"query":{"type":"string","minLength":1,"description":"what to look for: key words, names, or a question"},
"k":{"type":"integer","minimum":1,"maximum":30,"description":"how many passages at most; default: the user's setting"}},
"required":["query"],
"additionalProperties":false}`)}
}

// Needs is nothing: the user put these documents there to be found.
func (search) Needs(context.Context, json.RawMessage, chat.Env) ([]chat.Need, error) { return nil, nil }

// Execute searches and returns the passages, each marked with its document and
// lines, and the documents as sources.
func (t search) Execute(ctx context.Context, raw json.RawMessage, _ chat.Env) (chat.ToolResult, error) {
	var in input
	if err := json.Unmarshal(raw, &in); err != nil {
		return chat.ToolResult{}, fmt.Errorf("read the arguments: %w", err)
	}
	if strings.TrimSpace(in.Query) == "" {
		return chat.ToolResult{}, errors.New("the query is empty; say what to look for")
	}
	hits, err := t.base.Search(ctx, in.Query, min(max(in.K, 0), maxHits))
	if err != nil {
		return chat.ToolResult{}, fmt.Errorf("search the user's documents: %w", err)
	}
	return result(hits), nil
}

// result renders hits for the model.
func result(hits []chat.SearchHit) chat.ToolResult {
	if len(hits) == 0 {
		return chat.ToolResult{Text: "No passage in the user's documents matches. Try other words, or fewer."}
	}
	var r chat.ToolResult
	var b strings.Builder
	for i, h := range hits {
		if i > 0 {
			b.WriteString("\n\n")
		}
		fmt.Fprintf(&b, "%d. %s · score %.2f", i+1, place(h.Source), h.Score)
		if len(h.Matched) > 0 {
			b.WriteString(" · found by " + strings.Join(h.Matched, " and "))
		}
		b.WriteString("\n" + outside.Mark(place(h.Source), outside.Cap(outside.Clean(h.Snippet), maxPassage, "", "")))
		r.Sources = append(r.Sources, h.Source)
	}
	r.Text = b.String()
	return r
}

// place names a document and its lines, as the model shall cite them.
func place(s chat.Source) string {
	name := s.Title
	if name == "" {
		name = filepath.Base(s.Path)
	}
	switch {
	case s.StartLine > 0 && s.EndLine > s.StartLine:
		name += fmt.Sprintf(", lines %d–%d", s.StartLine, s.EndLine)
	case s.StartLine > 0:
		name += fmt.Sprintf(", line %d", s.StartLine)
	}
	if s.Path != "" && s.Path != s.Title {
		name += " (" + s.Path + ")"
	}
	return outside.Clean(strings.ReplaceAll(name, "\n", " "))
}
