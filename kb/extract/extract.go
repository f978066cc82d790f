// Package extract reads the text of a file, whatever its format and encoding.
//
// What cannot be read as text gives a [*Skip], an error whose reason the user
// sees. Nothing here trusts a file: sizes are bounded before they are read,
// archives are not unpacked further than their text needs, and a reader that
// fails inside a format costs that file only.
package extract

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"
)

// A Document is the text of a file.
type Document struct {
	Text string
	// Kind is "text", "code", "markdown", "html", "pdf", "docx", "odt", "epub" or
	// "xlsx".
	Kind string
	// Title is the document's own, or the file's name.
	Title string
	// Encoding is what a text file was read as, "UTF-8" for most.
	Encoding string
	// Lines maps the lines of Text (from 0) to those of the file (from 1). nil
	// means that they are the same. Formats without lines have their own: those
	// of Text.
	Lines []int
	// Pages maps the lines of Text to pages (from 1); nil where there are none.
	Pages []int
	// Headings says that lines starting with # are headings.
	Headings bool
}

// A Skip says why a file has no text to offer, in words for the user.
type Skip struct {
	Reason string
	Cause  error
}

// Error returns the reason.
func (s *Skip) Error() string { return s.Reason }

// Unwrap returns the cause.
func (s *Skip) Unwrap() error { return s.Cause }

func skipf(format string, args ...any) *Skip { return &Skip{Reason: fmt.Sprintf(format, args...)} }

// DefaultMaxBytes is the size above which a file is skipped, when nothing else
// is said.
const DefaultMaxBytes = 20 << 20

// timeLimit bounds one file. Formats are read in a goroutine, so a reader that
// never ends holds up nothing but itself.
const timeLimit = 60 * time.Second

// Options bound the reading.
type Options struct {
	MaxBytes int64 // 0 is DefaultMaxBytes
}

// File reads a file with the default limits.
func File(path string) (Document, error) {
	return FileContext(context.Background(), path, Options{})
}

// FileContext reads a file. A file that is no regular one, is too large, or has
// no text gives a *Skip; one that cannot be read gives the system's error.
func FileContext(ctx context.Context, path string, o Options) (Document, error) {
	b, err := Read(path, o)
	if err != nil {
		return Document{}, err
	}
	return Bytes(ctx, path, b)
}

// Read returns the content of a regular file within the size limit.
func Read(path string, o Options) ([]byte, error) {
	limit := o.MaxBytes
	if limit <= 0 {
		limit = DefaultMaxBytes
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if s := checkInfo(info, limit); s != nil {
		return nil, s
	}
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// Between the look and the opening the path can have become something else.
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	if s := checkInfo(info, limit); s != nil {
		return nil, s
	}
	var buf bytes.Buffer
	buf.Grow(int(info.Size()) + 1)
	if _, err := io.Copy(&buf, io.LimitReader(f, limit+1)); err != nil {
		return nil, err
	}
	if int64(buf.Len()) > limit {
		return nil, tooLarge(int64(buf.Len()), limit)
	}
	return buf.Bytes(), nil
}

func checkInfo(info fs.FileInfo, limit int64) error {
	switch m := info.Mode(); {
	case m.IsDir():
		return skipf("is a folder")
	case m&fs.ModeNamedPipe != 0:
		return skipf("is a pipe, not a file")
	case m&fs.ModeSocket != 0:
		return skipf("is a socket, not a file")
	case m&fs.ModeDevice != 0:
		return skipf("is a device, not a file")
	case !m.IsRegular():
		return skipf("is no regular file")
	}
	if info.Size() > limit {
		return tooLarge(info.Size(), limit)
	}
	return nil
}

func tooLarge(size, limit int64) *Skip {
	return skipf("too large: %d MB, the limit is %d MB (setting kb.max_file_mb)", (size+1<<20-1)>>20, limit>>20)
}

// Bytes reads the text of a file's content. The name decides between formats
// that look alike.
func Bytes(ctx context.Context, name string, b []byte) (Document, error) {
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	f := formatOf(name, b)
	if f.quick {
		return finish(name, f, func() (Document, error) { return f.read(ctx, name, b) })
	}
	type outcome struct {
		d   Document
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		d, err := finish(name, f, func() (Document, error) { return f.read(ctx, name, b) })
		done <- outcome{d, err}
	}()
	select {
	case o := <-done:
		return o.d, o.err
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return Document{}, skipf("reading it took longer than %d seconds", int(timeLimit.Seconds()))
		}
		return Document{}, ctx.Err()
	}
}

// finish runs a reader, survives its panics and completes what it returns.
func finish(name string, f format, read func() (Document, error)) (d Document, err error) {
	defer func() {
		if p := recover(); p != nil {
			d, err = Document{}, &Skip{
				Reason: fmt.Sprintf("damaged %s file", f.kind),
				Cause:  fmt.Errorf("panic: %v\n%s", p, debug.Stack()),
			}
		}
	}()
	d, err = read()
	if err != nil {
		var s *Skip
		if !errors.As(err, &s) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
			err = &Skip{Reason: fmt.Sprintf("damaged %s file: %v", f.kind, err), Cause: err}
		}
		return Document{}, err
	}
	if strings.TrimSpace(d.Text) == "" {
		return Document{}, noText(f.kind)
	}
	if d.Kind == "" { // a reader of archives has set that of the document inside
		d.Kind = f.kind
	}
	if d.Title = strings.Join(strings.Fields(d.Title), " "); d.Title == "" {
		d.Title = filepath.Base(name)
	}
	return d, nil
}

func noText(kind string) *Skip {
	switch kind {
	case "pdf":
		return skipf("no text: the pages are pictures (scanned?); run it through text recognition first")
	case "text", "code", "markdown":
		return skipf("empty file")
	}
	return skipf("no text in this %s file", kind)
}
