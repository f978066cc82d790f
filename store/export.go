package store

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sort"
	"time"

	"perch/chat"
)

// exportVersion is the version of the export's lines.
const exportVersion = 1

// header is the first line of an export. It holds no id: what is imported is a
// session of its own, and its export has the same bytes.
type header struct {
	Perch   string    `json:"perch"` // "session"
	Version int       `json:"version"`
	Title   string    `json:"title,omitempty"`
	Titled  bool      `json:"titled,omitempty"`
	Model   string    `json:"model,omitempty"`
	Dir     string    `json:"dir,omitempty"`
	Created time.Time `json:"created"`
	Used    time.Time `json:"used"`
	Pinned  bool      `json:"pinned,omitempty"`
}

// headerKind is what makes a line the header of a session.
const headerKind = "session"

// exportLine is every further line: a message with what the view says of it, or
// the mark of a compaction, which stands before the first message kept.
type exportLine struct {
	Message *chat.Message `json:"message,omitempty"`
	Pinned  bool          `json:"pinned,omitempty"`
	// Shortened is the text that the model sees instead of a result's.
	Shortened *string              `json:"shortened,omitempty"`
	Mark      *chat.CompactionMark `json:"mark,omitempty"`
	// Order is the place of the mark among all, in the order of their making.
	Order *int `json:"order,omitempty"`
}

// Export writes a session as JSON lines without their line ends: a header, then
// every message in order, those before a compaction too, with compaction marks,
// pins and images inline.
func Export(s Store, id string, write func(line []byte) error) error {
	l, err := s.Load(id)
	if err != nil {
		return err
	}
	emit := func(v any) error {
		b, err := encodeJSON(v)
		if err != nil {
			return err
		}
		return write(b)
	}
	m := l.Meta
	if err := emit(header{
		Perch: headerKind, Version: exportVersion, Title: m.Title, Titled: m.Titled, Model: m.Model,
		Dir: m.Dir, Created: m.Created, Used: m.Used, Pinned: m.Pinned,
	}); err != nil {
		return err
	}
	pinned := map[string]bool{}
	for _, id := range l.View.Pinned {
		pinned[id] = true
	}
	marks, rest := marksBefore(l.View.Marks, l.Messages)
	for i := range l.Messages {
		msg := &l.Messages[i]
		for _, n := range marks[i] {
			if err := emit(exportLine{Mark: &l.View.Marks[n], Order: &n}); err != nil {
				return err
			}
		}
		whole, err := withData(s, *msg)
		if err != nil {
			return err
		}
		line := exportLine{Message: &whole, Pinned: pinned[msg.ID]}
		if text, ok := l.View.Shortened[msg.ID]; ok {
			line.Shortened = &text
		}
		if err := emit(line); err != nil {
			return err
		}
	}
	for _, n := range rest {
		if err := emit(exportLine{Mark: &l.View.Marks[n], Order: &n}); err != nil {
			return err
		}
	}
	return nil
}

// marksBefore says which marks stand before which message, and which have none.
func marksBefore(marks []chat.CompactionMark, msgs []chat.Message) (before map[int][]int, rest []int) {
	at := make(map[string]int, len(msgs))
	for i := range msgs {
		if _, ok := at[msgs[i].ID]; !ok {
			at[msgs[i].ID] = i
		}
	}
	before = map[int][]int{}
	for n := range marks {
		if i, ok := at[marks[n].Before]; ok {
			before[i] = append(before[i], n)
		} else {
			rest = append(rest, n)
		}
	}
	return before, rest
}

// withData fills in the bytes of a message's images. One whose bytes are lost
// stays without.
func withData(s Store, m chat.Message) (chat.Message, error) {
	fill := func(img *chat.Image) error {
		if img.Hash == "" {
			return nil
		}
		data, err := s.Image(img.Hash)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrCorrupt) {
			return nil
		}
		if err == nil {
			img.Data, img.Size = data, len(data)
		}
		return err
	}
	copied := false
	for i := range m.Parts {
		if m.Parts[i].Image == nil {
			continue
		}
		if !copied {
			m.Parts, copied = append([]chat.Part(nil), m.Parts...), true
		}
		cp := *m.Parts[i].Image
		if err := fill(&cp); err != nil {
			return m, err
		}
		m.Parts[i].Image = &cp
	}
	if m.Result != nil && len(m.Result.Images) > 0 {
		r := *m.Result
		r.Images = append([]chat.Image(nil), r.Images...)
		for i := range r.Images {
			if err := fill(&r.Images[i]); err != nil {
				return m, err
			}
		}
		m.Result = &r
	}
	return m, nil
}

// badImport names the line that cannot be imported.
func badImport(n int, why string) error {
	return chat.NewError(chat.ClassMisuse, "err.import_line",
		"Line %d of the file cannot be imported: %s. Nothing was imported; use a file that `perch session export` wrote.", n, why)
}

// Import reads what [Export] wrote into a new session and returns its id. next
// returns a line at a time and io.EOF at the end. A file with a mistake is
// refused as a whole, with its line.
func Import(s Store, next func() ([]byte, error)) (id string, err error) {
	var in importer
	for n := 1; ; n++ {
		line, err := next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if err := in.line(s, line); err != nil {
			var bad *badLine
			if errors.As(err, &bad) {
				return "", badImport(n, bad.why)
			}
			return "", err
		}
	}
	if !in.headed {
		return "", badImport(1, "the file is empty")
	}
	meta, msgs, view := in.session()
	if err := s.Create(meta); err != nil {
		return "", err
	}
	if err := s.Rewrite(meta.ID, msgs, view); err != nil {
		// Nothing refers to it yet; a session without messages must not stay.
		return "", errors.Join(err, s.Delete(meta.ID))
	}
	return meta.ID, nil
}

// badLine is a line's own fault.
type badLine struct{ why string }

func (b *badLine) Error() string { return b.why }

func bad(format string, args ...any) error { return &badLine{fmt.Sprintf(format, args...)} }

// importer gathers a session from its lines.
type importer struct {
	headed bool
	head   header
	msgs   []chat.Message
	ids    map[string]bool
	view   chat.View
	order  []int
}

func (in *importer) line(s Store, b []byte) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if !in.headed {
		if json.Unmarshal(b, &in.head) != nil || in.head.Perch != headerKind {
			return bad("it is not the header of a Perch session")
		}
		if in.head.Version != exportVersion {
			return bad("it has version %d, this Perch reads version %d", in.head.Version, exportVersion)
		}
		in.headed, in.ids = true, map[string]bool{}
		return nil
	}
	var l exportLine
	if err := dec.Decode(&l); err != nil {
		return bad("%v", err)
	}
	if dec.More() {
		return bad("it holds more than one value")
	}
	switch {
	case l.Mark != nil && l.Message == nil:
		n := len(in.order)
		if l.Order != nil {
			n = *l.Order
		}
		in.view.Marks = append(in.view.Marks, *l.Mark)
		in.order = append(in.order, n)
		return nil
	case l.Message == nil || l.Mark != nil:
		return bad("it holds neither one message nor one mark")
	}
	m := *l.Message
	if err := checkMessage(&m); err != nil {
		return bad("%v", err)
	}
	if m.ID == "" || in.ids[m.ID] {
		return bad("the message's id %q is empty or used before", m.ID)
	}
	if m.Role != chat.RoleTool && m.Result != nil {
		return bad("message %q holds a result and is none", m.ID)
	}
	if err := checkImages(&m); err != nil {
		return err
	}
	m, err := withoutData(putter{s}, m)
	if err != nil {
		return err
	}
	in.ids[m.ID] = true
	in.msgs = append(in.msgs, m)
	if l.Pinned {
		in.view.Pinned = append(in.view.Pinned, m.ID)
	}
	if l.Shortened != nil {
		if in.view.Shortened == nil {
			in.view.Shortened = map[string]string{}
		}
		in.view.Shortened[m.ID] = *l.Shortened
	}
	return nil
}

// checkImages refuses an image whose name and bytes do not belong together.
func checkImages(m *chat.Message) error {
	check := func(img *chat.Image) error {
		switch {
		case img.Hash == "" && len(img.Data) == 0:
			return bad("an image of message %q has no bytes", m.ID)
		case img.Hash != "" && !validHash(img.Hash),
			img.Hash != "" && len(img.Data) > 0 && hashOf(img.Data) != img.Hash:
			return bad("an image of message %q does not match its hash", m.ID)
		}
		return nil
	}
	for i := range m.Parts {
		if m.Parts[i].Image != nil {
			if err := check(m.Parts[i].Image); err != nil {
				return err
			}
		}
	}
	if m.Result != nil {
		for i := range m.Result.Images {
			if err := check(&m.Result.Images[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// putter lets a store take the images of an import.
type putter struct{ s Store }

func (p putter) put(data []byte) (string, error) { return p.s.PutImage(data) }
func (p putter) get(hash string) ([]byte, error) { return p.s.Image(hash) }

// session is what the lines amount to.
func (in *importer) session() (chat.SessionMeta, []chat.Message, chat.View) {
	h := in.head
	meta := chat.SessionMeta{
		ID: newID(), Title: h.Title, Titled: h.Titled, Model: h.Model, Dir: h.Dir,
		Created: h.Created, Used: h.Used, Pinned: h.Pinned,
	}
	sort.Stable(byOrder{in.view.Marks, in.order})
	msgs, _ := chat.Repair(in.msgs)
	return meta, msgs, in.view
}

// byOrder sorts marks by the order of their making.
type byOrder struct {
	marks []chat.CompactionMark
	order []int
}

func (b byOrder) Len() int           { return len(b.marks) }
func (b byOrder) Less(i, j int) bool { return b.order[i] < b.order[j] }
func (b byOrder) Swap(i, j int) {
	b.marks[i], b.marks[j] = b.marks[j], b.marks[i]
	b.order[i], b.order[j] = b.order[j], b.order[i]
}

// newID makes the id of an imported session.
func newID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails on supported systems
	return "s" + hex.EncodeToString(b[:])
}
