// Package backend says what the knowledge base asks of the place where it keeps
// its index. There are three: in memory, in a Bolt file, and in PostgreSQL; one
// suite of tests (backendtest) holds for all.
//
// A backend stores what it is given and ranks; it reads no files, cuts no text
// and calls no model. Every method is safe for concurrent use. [Backend.Apply]
// is atomic: after a crash a batch is there as a whole or not at all.
package backend

import (
	"context"
	"crypto/sha256"
	"time"

	"perch/kb/segment"
)

// A Document is a file in the index.
type Document struct {
	Path  string       `json:"path"` // absolute; the key
	Root  string       `json:"root"` // the added folder or file that it came with
	Title string       `json:"title"`
	Kind  string       `json:"kind"` // "text", "markdown", "pdf"…
	Lang  segment.Lang `json:"lang,omitempty"`
	Size  int64        `json:"size"`
	// ModTime is the file's, for telling quickly that nothing changed; Hash is of
	// its content and decides.
	ModTime time.Time `json:"mod_time"`
	Hash    string    `json:"hash"`
	Indexed time.Time `json:"indexed"`
	Chunks  int       `json:"chunks"`
}

// Hash names a text for the vectors, which belong to texts and not to places:
// a moved file or a repeated passage is embedded once.
type Hash [16]byte

// HashText returns the hash of what is embedded for a chunk.
func HashText(text string) Hash {
	sum := sha256.Sum256([]byte(text))
	return Hash(sum[:16])
}

// A Part is one chunk of a document as it is stored.
type Part struct {
	Text               string
	Heading            string
	StartLine, EndLine int
	Page               int      // from 1; 0 where there are none
	Terms              []string // of the keyword index, with repeats
}

// EmbedText is what stands for the part in the vector index: its headings give
// a passage the context that its words lack.
func (p *Part) EmbedText() string {
	if p.Heading == "" {
		return p.Text
	}
	return p.Heading + "\n" + p.Text
}

// A Chunk is a part as it is read back.
type Chunk struct {
	ID                 uint32
	Path               string
	Title              string
	Text               string
	Heading            string
	StartLine, EndLine int
	Page               int
}

// An Entry is a document with its parts.
type Entry struct {
	Document
	Parts []Part
}

// A Batch is one atomic change. Deletions come first, then the documents, which
// replace those of the same path.
type Batch struct {
	Delete []string // paths
	Put    []Entry
	// Touch updates what is known of the file, without its parts.
	Touch []Document
	// Problems sets the reason why a path is not in the index; "" clears it.
	Problems map[string]string
}

// Empty reports whether there is nothing to do.
func (b *Batch) Empty() bool {
	return len(b.Delete) == 0 && len(b.Put) == 0 && len(b.Touch) == 0 && len(b.Problems) == 0
}

// A Root is a folder or file that the user added.
type Root struct {
	Path    string    `json:"path"`
	Added   time.Time `json:"added"`
	Indexed time.Time `json:"indexed,omitzero"` // end of the last whole pass
}

// A Hit is a chunk found by one pass. Scores compare within one answer only; for
// vectors they are the cosine.
type Hit struct {
	ID    uint32
	Score float64
}

// Stats are the figures of the whole index.
type Stats struct {
	Documents int
	Chunks    int
	Langs     map[segment.Lang]int // chunks by language
}

// A Text waits for its vector.
type Text struct {
	Hash Hash
	Text string
}

// A Vector belongs to a text.
type Vector struct {
	Hash   Hash
	Values []float32
}

// Backend is a place for the index.
type Backend interface {
	Apply(ctx context.Context, b Batch) error

	Document(ctx context.Context, path string) (Document, bool, error)
	// Documents calls f for each document in order of path until f returns false.
	Documents(ctx context.Context, f func(Document) bool) error
	// Chunks returns the chunks with those ids that still exist, in that order.
	Chunks(ctx context.Context, ids []uint32) ([]Chunk, error)
	Stats(ctx context.Context) (Stats, error)
	Problems(ctx context.Context) (map[string]string, error)

	Roots(ctx context.Context) ([]Root, error)
	PutRoot(ctx context.Context, r Root) error
	// DeleteRoot forgets the root itself, not its documents.
	DeleteRoot(ctx context.Context, path string) error

	// Keywords ranks by BM25 and returns the best k, ties by id, with scores as
	// [bm25.Search] gives them.
	Keywords(ctx context.Context, groups []segment.Group, k int) ([]Hit, error)

	// Vectors live in sets, one for each model and dimension; see [SetName].
	Sets(ctx context.Context) ([]string, error)
	// Missing returns up to limit texts that have no vector in the set, in order
	// of id, and how many there are in all.
	Missing(ctx context.Context, set string, limit int) ([]Text, int, error)
	// PutVectors stores vectors, all of the set's dimension, in one transaction.
	PutVectors(ctx context.Context, set string, vs []Vector) error
	// Nearest ranks by cosine, exactly, and returns the best k, ties by id.
	Nearest(ctx context.Context, set string, query []float32, k int) ([]Hit, error)
	// Counted returns how many chunks have a vector in the set.
	Counted(ctx context.Context, set string) (int, error)
	DropSet(ctx context.Context, set string) error

	// Meta and SetMeta keep small facts of the knowledge base; "" is unset.
	Meta(ctx context.Context, key string) (string, error)
	SetMeta(ctx context.Context, key, value string) error

	// Maintain does one step of work that can wait (merging, sweeping) and
	// reports whether there is more.
	Maintain(ctx context.Context) (more bool, err error)
	// Release gives back memory that only speeds up searches.
	Release()
	Close() error
}
