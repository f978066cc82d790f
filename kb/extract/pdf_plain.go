package extract

import (
	"bytes"
	"context"
	"math"
	"strings"

	"github.com/ledongthuc/pdf"
)

// wordGap is the distance between two characters, as a share of the font size,
// that is a space. PDF has none of its own where a program sets words by place.
const wordGap = 0.18

// plainPDF reads a PDF without help from outside. It sets words and lines by the
// places of the characters.
func plainPDF(ctx context.Context, b []byte) (Document, error) {
	r, err := pdf.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		if strings.Contains(err.Error(), "password") || strings.Contains(err.Error(), "encrypt") {
			return Document{}, skipf("protected by a password")
		}
		return Document{}, skipf("damaged pdf file")
	}
	var out strings.Builder
	for n := 1; n <= r.NumPage(); n++ {
		if ctx.Err() != nil {
			return Document{}, ctx.Err()
		}
		out.WriteString(pageText(r.Page(n)))
		out.WriteByte('\f')
	}
	return pagedText(out.String()), nil
}

func pageText(p pdf.Page) (s string) {
	defer func() { // one broken page does not cost the others
		if recover() != nil {
			s = ""
		}
	}()
	if p.V.IsNull() {
		return ""
	}
	var b strings.Builder
	var last pdf.Text
	for i, t := range p.Content().Text {
		if i > 0 {
			size := math.Max(math.Max(t.FontSize, last.FontSize), 1)
			switch {
			case math.Abs(t.Y-last.Y) > size*0.5:
				b.WriteByte('\n')
				if last.Y-t.Y > size*1.8 {
					b.WriteByte('\n')
				}
			case t.X-(last.X+last.W) > size*wordGap && !strings.HasSuffix(b.String(), " ") && t.S != " ":
				b.WriteByte(' ')
			}
		}
		b.WriteString(t.S)
		last = t
	}
	return b.String()
}
