package chat

// Source is a place in a document that an answer rests on.
type Source struct {
	Title string `json:"title"`
	// Path is a file's absolute path or a URL.
	Path      string `json:"path"`
	StartLine int    `json:"start_line,omitempty"` // from 1; 0 where lines mean nothing
	EndLine   int    `json:"end_line,omitempty"`
}

// SearchHit is one result of a knowledge search.
type SearchHit struct {
	Source
	Snippet string  `json:"snippet"`
	Score   float64 `json:"score"` // 0…1
	// Matched says which passes found it: "keyword", "vector".
	Matched []string `json:"matched"`
	// Terms are the query's words that occur in the hit.
	Terms []string `json:"terms,omitempty"`
}
