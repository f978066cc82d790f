package exec

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"perch/tools/charset"
	"perch/tools/outside"
)

// Bounds of what is kept of the output.
const (
	// headChars and tailChars are what a result shows of a long output, in runes,
	// together the cap of all tools (30,000). Errors stand at the end more often.
	headChars = outside.MaxChars * 2 / 5
	tailChars = outside.MaxChars - headChars
	// window is how many bytes are kept in memory at each end: enough for the
	// characters above at four bytes each, with room so that nothing is cut
	// before secrets were hidden.
	window = 128 << 10
	// spoolLimit bounds the file, in bytes: a command that prints without end
	// must not fill the disk. What follows is counted and dropped.
	spoolLimit = 1 << 30
	// scrubOverlap is the longest secret that is hidden across two pieces of
	// output, in bytes: a private key has about 3,200.
	scrubOverlap = 8 << 10
	// lastLineMax bounds a line of progress, in runes.
	lastLineMax = 160
)

// collector takes the output of a command: the head and the tail in memory, the
// whole in a file once it is long.
type collector struct {
	dir   string
	scrub func(string) string

	mu    sync.Mutex // protects everything below
	head  []byte
	tail  []byte // ring of window bytes
	pos   int    // next byte of the ring
	total int64
	spool *spoolFile
	err   error // of the spool
}

func newCollector(dir string, scrub func(string) string) *collector {
	return &collector{dir: dir, scrub: scrub}
}

// readFrom reads until the end of the output.
func (c *collector) readFrom(r io.Reader) {
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			c.write(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

func (c *collector) write(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total += int64(len(b))
	if n := min(window-len(c.head), len(b)); n > 0 {
		c.head = append(c.head, b[:n]...)
		c.toSpool(b[:n])
		b = b[n:]
	}
	if len(b) == 0 {
		return
	}
	if c.spool == nil {
		c.openSpool()
	}
	c.toSpool(b)
	if len(b) >= window {
		b = b[len(b)-window:]
	}
	if len(c.tail) < window {
		n := min(window-len(c.tail), len(b))
		c.tail = append(c.tail, b[:n]...)
		b = b[n:]
	}
	for len(b) > 0 {
		n := copy(c.tail[c.pos:], b)
		c.pos = (c.pos + n) % window
		b = b[n:]
	}
}

// openSpool makes the file and writes what was read so far.
func (c *collector) openSpool() {
	if c.dir == "" || c.err != nil {
		return
	}
	f, err := os.CreateTemp(c.dir, "command-*.txt") // 0600
	if err != nil {
		c.err = err
		return
	}
	c.spool = &spoolFile{f: f, scrub: c.scrub}
	c.toSpool(c.head)
}

func (c *collector) toSpool(b []byte) {
	if c.spool != nil && c.err == nil {
		c.err = c.spool.write(b)
	}
}

// spoolNow makes the file at once, for a command whose output is read while it
// runs, and returns its path.
func (c *collector) spoolNow() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.openSpool()
	if c.err != nil {
		return "", c.err
	}
	if c.spool == nil {
		return "", nil
	}
	c.spool.eager = true
	return c.spool.f.Name(), nil
}

func (c *collector) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.spool != nil {
		c.spool.close()
	}
}

// ringBytes is the tail in order.
func (c *collector) ringBytes() []byte {
	return append(bytes.Clone(c.tail[c.pos:]), c.tail[:c.pos]...)
}

// result fills in what the output was.
func (c *collector) result(r *Result) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.Bytes = c.total
	sample := c.head
	if isBinary(sample) {
		r.Binary = true
		if c.spool == nil {
			c.openSpool()
		}
	} else {
		enc, known := encodingOf(sample, c.total <= window)
		head := c.text(sample, enc, known)
		if c.total <= window && utf8.RuneCountInString(head) <= outside.MaxChars {
			r.Output = head
		} else {
			if c.spool == nil {
				c.openSpool()
			}
			tail := head
			if c.total > window {
				tail = c.text(fromLine(append(bytes.Clone(c.head[min(len(c.head), len(c.tail)):]), c.ringBytes()...)), enc, known)
			}
			r.Output = joinEnds(head, tail, c.total, c.where())
		}
	}
	if c.spool != nil {
		r.Spool = c.spool.f.Name()
		if err := c.spool.close(); err != nil && c.err == nil {
			c.err = err
		}
	}
	return nil
}

func (c *collector) where() string {
	switch {
	case c.err != nil:
		return fmt.Sprintf("the whole could not be kept: %v", c.err)
	case c.spool == nil:
		return "the rest was dropped"
	case c.spool.dropped:
		return fmt.Sprintf("its first %d bytes are in %s", int64(spoolLimit), c.spool.f.Name())
	}
	return "the whole is in " + c.spool.f.Name()
}

// text makes output readable: decoded, with secrets hidden, progress bars
// reduced to their last state, and without terminal codes.
func (c *collector) text(b []byte, enc charset.Encoding, known bool) string {
	var s string
	if known {
		s = enc.Decode(b)
	} else {
		s = strings.ToValidUTF8(string(b), "\uFFFD")
	}
	s = strings.ReplaceAll(s, "\x00", "\n")
	return outside.Clean(lastStates(c.scrub(s)))
}

// encodingOf decides how output is written. ASCII and UTF-8 with a broken byte
// stay UTF-8: programs mix texts, and one stray byte must not turn the rest.
func encodingOf(b []byte, whole bool) (charset.Encoding, bool) {
	plain := bytes.ReplaceAll(b, []byte{0}, []byte{'\n'})
	if e, ok := charset.Detect(b, whole); ok {
		return e, true
	}
	return charset.Detect(plain, whole)
}

// isBinary reports whether output is no text. NULs alone do not make it binary:
// `find -print0` separates names with them.
func isBinary(b []byte) bool {
	b = b[:min(len(b), charset.Sample)]
	if _, ok := charset.Detect(b, false); ok {
		return false
	}
	nuls := bytes.Count(b, []byte{0})
	if nuls == 0 {
		return charset.Binary(b)
	}
	rest := bytes.ReplaceAll(b, []byte{0}, nil)
	return nuls*8 > len(b) || !utf8.Valid(rest[:max(0, len(rest)-utf8.UTFMax)]) || charset.Binary(rest)
}

// fromLine drops an incomplete first line, so that a character cut in half does
// not turn into another.
func fromLine(b []byte) []byte {
	if i := bytes.IndexByte(b[:min(len(b), 4096)], '\n'); i >= 0 {
		return b[i+1:]
	}
	for len(b) > 0 && !utf8.RuneStart(b[0]) {
		b = b[1:]
	}
	return b
}

// lastStates keeps of each line what a terminal would show in the end: a
// carriage return begins the line anew.
func lastStates(s string) string {
	if !strings.Contains(s, "\r") {
		return s
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if !strings.Contains(s, "\r") {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		l = strings.TrimRight(l, "\r")
		if j := strings.LastIndexByte(l, '\r'); j >= 0 {
			l = l[j+1:]
		}
		lines[i] = l
	}
	return strings.Join(lines, "\n")
}

// joinEnds shows head and tail of a long text, with what lies between named.
func joinEnds(head, tail string, total int64, where string) string {
	h := head[:runeOffset(head, headChars)]
	if i := strings.LastIndexByte(h, '\n'); i > len(h)/2 {
		h = h[:i]
	}
	n := utf8.RuneCountInString(tail)
	t := tail[runeOffset(tail, max(0, n-tailChars)):]
	if i := strings.IndexByte(t, '\n'); i >= 0 && i < len(t)/2 {
		t = t[i+1:]
	}
	return fmt.Sprintf("%s\n[… only the head and the tail of %d bytes of output are shown; %s …]\n%s", h, total, where, t)
}

// runeOffset is the byte offset of rune n.
func runeOffset(s string, n int) int {
	for off := range s {
		if n == 0 {
			return off
		}
		n--
	}
	return len(s)
}

// lastLine is the newest line that says something.
func (c *collector) lastLine() string {
	c.mu.Lock()
	b := c.head
	if len(c.tail) > 0 {
		b = c.ringBytes()
	}
	b = bytes.Clone(b[max(0, len(b)-scrubOverlap):])
	c.mu.Unlock()
	lines := strings.Split(outside.Clean(lastStates(c.scrub(charset.Repair(b)))), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if l := strings.TrimSpace(lines[i]); l != "" {
			return l[:runeOffset(l, lastLineMax)]
		}
	}
	return ""
}

// spoolFile is the whole output with secrets hidden, also those that lie across
// two pieces.
type spoolFile struct {
	f       *os.File
	scrub   func(string) string
	pending []byte
	size    int64
	eager   bool // write at each line's end: somebody reads along
	dropped bool
	closed  bool
}

func (s *spoolFile) write(b []byte) error {
	if s.closed {
		return nil
	}
	s.pending = append(s.pending, b...)
	if s.eager {
		if i := bytes.LastIndexByte(s.pending, '\n'); i >= 0 {
			return s.flush(len(s.pending) - i - 1)
		}
	}
	if len(s.pending) < scrubOverlap*8 {
		return nil
	}
	return s.flush(scrubOverlap)
}

// flush writes all but the last keep bytes, which may be the beginning of a
// secret.
func (s *spoolFile) flush(keep int) error {
	text := s.scrub(string(s.pending))
	cut := max(0, len(text)-keep)
	s.pending = append(s.pending[:0], text[cut:]...)
	out := text[:cut]
	if room := spoolLimit - s.size; int64(len(out)) > room {
		out, s.dropped = out[:room], true
	}
	n, err := s.f.WriteString(out)
	s.size += int64(n)
	return err
}

func (s *spoolFile) close() error {
	if s.closed {
		return nil
	}
	err := s.flush(0)
	s.closed = true
	if e := s.f.Close(); err == nil {
		err = e
	}
	return err
}
