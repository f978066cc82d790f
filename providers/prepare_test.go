package providers_test

import (
	"bytes"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"perch/chat"
	"perch/providers"
)

func noise(w, h int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := range img.Pix {
		img.Pix[i] = byte(r.Uint32())
	}
	img.Set(0, 0, color.NRGBA{})
	var b bytes.Buffer
	_ = png.Encode(&b, img)
	return b.Bytes()
}

func TestPicturesAreMadeToFit(t *testing.T) {
	l := providers.ImageLimits{MaxEdge: 300, MaxBytes: 60_000, Types: []string{"image/png", "image/jpeg"}}
	img := &chat.Image{MIME: "image/png", Data: noise(500, 250), Hash: "x"}
	out, ok := l.Fit(img)
	if !ok || out.Width > 300 || len(out.Data) > 60_000 || out.MIME != "image/jpeg" {
		t.Fatalf("%v %d bytes, %d wide, %s", ok, len(out.Data), out.Width, out.MIME)
	}
	if again, _ := l.Fit(img); !bytes.Equal(again.Data, out.Data) {
		t.Error("the same picture gave other bytes")
	}
	small := &chat.Image{MIME: "image/jpeg", Data: noise(10, 10)} // its type is wrong
	if out, ok := l.Fit(small); !ok || out.MIME != "image/png" || !bytes.Equal(out.Data, small.Data) {
		t.Error("a picture that fits was changed, or kept a wrong type")
	}
	for name, data := range map[string][]byte{"nothing": nil, "no picture": []byte("GIF89a"), "cut off": noise(400, 400)[:500]} {
		if _, ok := l.Fit(&chat.Image{Data: data}); ok {
			t.Error(name)
		}
	}
}

func TestAnUnreadablePictureBecomesALine(t *testing.T) {
	req := &providers.Request{Model: providers.ModelInfo{Vision: true}, Messages: []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Type: chat.PartImage, Image: &chat.Image{Data: []byte("x")}}}}}}
	got := providers.Prepare(req, providers.Rules{Images: providers.ImageLimits{MaxEdge: 10, MaxBytes: 10}})
	if got[0].PlainText() != providers.ImageMissing {
		t.Errorf("%+v", got)
	}
}

func TestSchemasAreMadeToFit(t *testing.T) {
	r := providers.SchemaRules{Drop: []string{"default", "$schema"}, Inline: true, SingleType: true, ConstAsEnum: true, StringEnums: true}
	for in, want := range map[string]string{
		`{"type":"object","properties":{"default":{"type":["string","null"],"default":"x"}}}`:        `{"properties":{"default":{"nullable":true,"type":"string"}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/x~1y"}},"$defs":{"x/y":{"const":"k"}}}`: `{"properties":{"a":{"enum":["k"]}},"type":"object"}`,
		`{"type":"object","properties":{"n":{"enum":[1,2],"type":"integer"}}}`:                       `{"properties":{"n":{"type":"integer"}},"type":"object"}`,
		`{"type":"object","properties":{"u":{"type":["string","integer"]}}}`:                         `{"properties":{"u":{"anyOf":[{"type":"string"},{"type":"integer"}]}},"type":"object"}`,
		`true`: `{"type":"object","properties":{}}`,
		`nope`: `{"type":"object","properties":{}}`,
		`{}`:   `{"properties":{},"type":"object"}`,
	} {
		if got := string(r.Apply(json.RawMessage(in))); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
	self := `{"type":"object","properties":{"child":{"$ref":"#"}}}`
	if got := r.Apply(json.RawMessage(self)); !json.Valid(got) || len(got) > 4096 {
		t.Errorf("%s", got)
	}
}

func TestCallIdsFitAndStayTheSame(t *testing.T) {
	mistral, openai := providers.CallIDs(9, true), providers.CallIDs(40, false)
	for _, id := range []string{"", "a", "abcdefghi", "call_zgUaIBRPTwxxOusyyKw5NVMH", "ключ/1", strings.Repeat("x", 100)} {
		m, o := mistral(id), openai(id)
		if len(m) != 9 || strings.ContainsAny(m, "_-/") || m != mistral(id) {
			t.Errorf("%q: %q", id, m)
		}
		if o == "" || len(o) > 40 || o != openai(id) {
			t.Errorf("%q: %q", id, o)
		}
	}
	if mistral("abcdefghi") != "abcdefghi" || openai("call_1") != "call_1" {
		t.Error("an id that fits was changed")
	}
	if a, b := mistral("call_1"), mistral("call_2"); a == b {
		t.Error("two ids became one")
	}
}

func TestTextsThatNoVendorTakesAreMended(t *testing.T) {
	for in, want := range map[string]string{
		"plain ☕":            "plain ☕",
		"nul\x00inside":      "nulinside",
		"cut \xe2\x98":       "cut \uFFFD",
		"lone \xed\xa0\x80.": "lone \uFFFD.",
	} {
		if got := providers.Sanitize(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
