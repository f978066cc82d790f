package extract

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"strings"
)

// maxUnpacked bounds what is unpacked of one archive: a few hundred kilobytes
// can hold gigabytes of zeros.
const maxUnpacked = 200 << 20

// errUnpacked says that the bound was reached.
var errUnpacked = skipf("unpacks to more than %d MB", maxUnpacked>>20)

// readArchive recognises the document formats that are zip archives.
func readArchive(ctx context.Context, name string, b []byte) (Document, error) {
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return Document{}, skipf("damaged archive")
	}
	for _, a := range archives {
		if find(z, a.part) == nil {
			continue
		}
		d, err := finish(name, format{kind: a.kind}, func() (Document, error) {
			return a.read(ctx, name, b)
		})
		return d, err
	}
	if find(z, "EncryptedPackage") != nil {
		return Document{}, skipf("protected by a password")
	}
	return Document{}, skipf("binary file: an archive")
}

func find(z *zip.Reader, name string) *zip.File {
	for _, f := range z.File {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// archive is an open zip with a budget for unpacking.
type archive struct {
	*zip.Reader
	left int64
}

func openArchive(b []byte) (*archive, error) {
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, skipf("damaged archive")
	}
	return &archive{z, maxUnpacked}, nil
}

// part unpacks one file; a missing one is empty.
func (a *archive) part(name string) ([]byte, error) {
	f := find(a.Reader, name)
	if f == nil {
		return nil, nil
	}
	if f.Flags&1 != 0 {
		return nil, skipf("protected by a password")
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, a.left+1))
	if err != nil {
		return nil, err
	}
	if a.left -= int64(len(b)); a.left < 0 {
		return nil, errUnpacked
	}
	return b, nil
}

// walkXML calls start, end and text as they come. Broken XML ends the walk
// without an error when something was read already.
func walkXML(ctx context.Context, b []byte, start func(name string, attr func(string) string), end func(string), text func(string)) error {
	d := xml.NewDecoder(bytes.NewReader(b))
	d.Strict = false
	d.Entity = xml.HTMLEntity
	d.CharsetReader = func(label string, r io.Reader) (io.Reader, error) { return r, nil }
	seen := false
	for n := 0; ; n++ {
		if n&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		t, err := d.RawToken()
		if err != nil {
			var syn *xml.SyntaxError
			if errors.Is(err, io.EOF) || seen && errors.As(err, &syn) {
				return nil
			}
			return err
		}
		switch t := t.(type) {
		case xml.StartElement:
			start(qualified(t.Name), func(k string) string {
				for _, a := range t.Attr {
					if qualified(a.Name) == k {
						return a.Value
					}
				}
				return ""
			})
		case xml.EndElement:
			end(qualified(t.Name))
		case xml.CharData:
			seen = seen || len(t) > 0
			text(string(t))
		}
	}
}

func qualified(n xml.Name) string {
	if n.Space == "" {
		return n.Local
	}
	return n.Space + ":" + n.Local
}

// atoi reads a small number from text, 0 when it is none.
func atoi(s string) int {
	n := 0
	for _, c := range strings.TrimSpace(s) {
		if c < '0' || c > '9' || n > 1<<20 {
			return 0
		}
		n = n*10 + int(c-'0')
	}
	return n
}
