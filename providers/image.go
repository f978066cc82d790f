package providers

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	_ "image/gif" // decoded, never written
	"image/jpeg"
	"image/png"
	"strings"
	"sync"

	xdraw "golang.org/x/image/draw"
	_ "golang.org/x/image/webp" // decoded, never written

	"perch/chat"
)

// ImageLimits are what a vendor takes of one picture.
type ImageLimits struct {
	MaxEdge  int // pixels
	MaxBytes int // of the encoded picture, before base64
	// Types are the MIME types taken; others are encoded anew.
	Types []string
}

const (
	// jpegQuality keeps text in screenshots readable.
	jpegQuality = 85
	// minEdge is where shrinking ends, in pixels: below it nothing can be seen.
	minEdge = 64
	// maxPixels is what is decoded at most: a picture that claims more would
	// take gigabytes of memory.
	maxPixels = 100_000_000
	// fittedKept is how many fitted pictures are remembered, so that the next
	// turn of the same session sends the same bytes without work.
	fittedKept = 32
)

var fitted struct {
	sync.Mutex
	byKey map[fitKey]*chat.Image
	order []fitKey
}

type fitKey struct {
	hash  string
	edge  int
	bytes int
	types string
}

// Fit returns the picture within the limits, scaled down and encoded anew where
// needed; false where it cannot be read. The same picture gives the same bytes.
func (l ImageLimits) Fit(img *chat.Image) (*chat.Image, bool) {
	if len(img.Data) == 0 {
		return nil, false
	}
	cfg, format, err := image.DecodeConfig(bytes.NewReader(img.Data))
	if err != nil || cfg.Width <= 0 || cfg.Height <= 0 || cfg.Width > maxPixels/cfg.Height {
		return nil, false
	}
	mime := "image/" + format
	if l.takes(mime) && len(img.Data) <= l.MaxBytes && max(cfg.Width, cfg.Height) <= l.MaxEdge {
		out := *img
		out.MIME, out.Width, out.Height = mime, cfg.Width, cfg.Height
		return &out, true
	}
	key := fitKey{img.Hash, l.MaxEdge, l.MaxBytes, strings.Join(l.Types, ",")}
	if img.Hash != "" {
		fitted.Lock()
		got := fitted.byKey[key]
		fitted.Unlock()
		if got != nil {
			return got, true
		}
	}
	out, ok := l.encode(img)
	if ok && img.Hash != "" {
		remember(key, out)
	}
	return out, ok
}

func remember(key fitKey, img *chat.Image) {
	fitted.Lock()
	defer fitted.Unlock()
	if fitted.byKey == nil {
		fitted.byKey = map[fitKey]*chat.Image{}
	}
	if len(fitted.order) >= fittedKept {
		delete(fitted.byKey, fitted.order[0])
		fitted.order = fitted.order[1:]
	}
	fitted.byKey[key] = img
	fitted.order = append(fitted.order, key)
}

func (l ImageLimits) takes(mime string) bool {
	for _, t := range l.Types {
		if t == mime {
			return true
		}
	}
	return false
}

// encode scales to the limits: PNG first, since screenshots are text, JPEG
// where that is too large, then smaller.
func (l ImageLimits) encode(img *chat.Image) (*chat.Image, bool) {
	src, _, err := image.Decode(bytes.NewReader(img.Data))
	if err != nil {
		return nil, false
	}
	b := src.Bounds()
	for edge := min(l.MaxEdge, max(b.Dx(), b.Dy())); edge >= minEdge; edge = edge * 3 / 4 {
		dst := scaled(src, edge)
		var buf bytes.Buffer
		if l.takes("image/png") && png.Encode(&buf, dst) == nil && buf.Len() <= l.MaxBytes {
			return picture(img, "image/png", dst, buf.Bytes()), true
		}
		buf.Reset()
		if l.takes("image/jpeg") && jpeg.Encode(&buf, onWhite(dst), &jpeg.Options{Quality: jpegQuality}) == nil && buf.Len() <= l.MaxBytes {
			return picture(img, "image/jpeg", dst, buf.Bytes()), true
		}
	}
	return nil, false
}

func picture(from *chat.Image, mime string, img image.Image, data []byte) *chat.Image {
	out := *from
	out.MIME, out.Data, out.Size = mime, data, len(data)
	out.Width, out.Height = img.Bounds().Dx(), img.Bounds().Dy()
	out.Hash = ""
	return &out
}

func scaled(src image.Image, edge int) image.Image {
	b := src.Bounds()
	w, h := b.Dx(), b.Dy()
	if max(w, h) <= edge {
		return src
	}
	if w >= h {
		w, h = edge, max(1, h*edge/w)
	} else {
		w, h = max(1, w*edge/h), edge
	}
	dst := image.NewNRGBA(image.Rect(0, 0, w, h))
	xdraw.CatmullRom.Scale(dst, dst.Bounds(), src, b, xdraw.Src, nil)
	return dst
}

// onWhite puts a picture with transparency on white: JPEG has none.
func onWhite(src image.Image) image.Image {
	if o, ok := src.(interface{ Opaque() bool }); ok && o.Opaque() {
		return src
	}
	b := src.Bounds()
	dst := image.NewRGBA(b)
	draw.Draw(dst, b, image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(dst, b, src, b.Min, draw.Over)
	return dst
}
