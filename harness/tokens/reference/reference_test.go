package reference

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// load writes a tokenizer.json and reads it.
func load(t *testing.T, model map[string]any, rest map[string]any) *Tokenizer {
	t.Helper()
	f := map[string]any{"model": model}
	for k, v := range rest {
		f[k] = v
	}
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tokenizer.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	tok, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// pieces are the tokens of a text as the text's own bytes.
func pieces(t *testing.T, tok *Tokenizer, s string) []string {
	t.Helper()
	ids, starts, err := tok.Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	lib, err := tok.Library(s)
	if err != nil || !slices.Equal(lib, ids) {
		t.Fatalf("the library gives %v, %v; want %v", lib, err, ids)
	}
	s = tok.Normal(s)
	var out []string
	for i, from := range starts {
		to := len(s)
		if i+1 < len(starts) {
			to = starts[i+1]
		}
		out = append(out, s[from:to])
	}
	return out
}

var byteLevel = map[string]any{"type": "Sequence", "pretokenizers": []any{
	map[string]any{"type": "Split", "pattern": map[string]string{"Regex": `\p{N}{1,3}| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`}, "behavior": "Isolated"},
	map[string]any{"type": "ByteLevel", "use_regex": false},
}}

func vocabulary(extra ...string) map[string]int {
	v := map[string]int{}
	for r := range byteRunes() {
		v[string(r)] = len(v)
	}
	for _, e := range extra {
		v[e] = len(v)
	}
	return v
}

func TestPiecesEndWhereLookAheadSays(t *testing.T) {
	tok := load(t, map[string]any{"type": "BPE", "vocab": vocabulary("Ġa", "ĠĠ"), "merges": []string{"Ġ a", "Ġ Ġ"}}, map[string]any{"pre_tokenizer": byteLevel})
	if got := strings.Join(pieces(t, tok, "b   a"), "|"); got != "b|  | a" {
		t.Errorf("got %q: the last space belongs to the word", got)
	}
	if got := strings.Join(pieces(t, tok, "é7"), "|"); got != "\xc3|\xa9|7" {
		t.Errorf("got %q: bytes without a merge stand alone", got)
	}
}

func TestEqualMergesAreMadeFromTheLeft(t *testing.T) {
	tok := load(t, map[string]any{"type": "BPE", "vocab": vocabulary("aa", "aaa"), "merges": []any{[]string{"a", "a"}, []string{"aa", "a"}}}, map[string]any{"pre_tokenizer": byteLevel})
	if got := strings.Join(pieces(t, tok, "aaaaa"), "|"); got != "aa|aaa" && got != "aaa|aa" {
		t.Errorf("got %q", got)
	}
	if got := strings.Join(pieces(t, tok, "aaa"), "|"); got != "aaa" {
		t.Errorf("got %q", got)
	}
}

func TestAWholeWordWinsWhereMergesAreIgnored(t *testing.T) {
	model := map[string]any{"type": "BPE", "vocab": vocabulary("ab", "bc", "abc"), "merges": []string{"b c"}, "ignore_merges": true}
	tok := load(t, model, map[string]any{"pre_tokenizer": byteLevel})
	if got := strings.Join(pieces(t, tok, "abc"), "|"); got != "abc" {
		t.Errorf("got %q", got)
	}
	if !tok.Single("abc") || tok.Single("cb") {
		t.Error("a word of the vocabulary is not known as one token")
	}
	model["ignore_merges"] = false
	tok = load(t, model, map[string]any{"pre_tokenizer": byteLevel})
	if got := strings.Join(pieces(t, tok, "abc"), "|"); got != "a|bc" {
		t.Errorf("got %q", got)
	}
}

func TestCharactersWithoutATokenFallBackToBytes(t *testing.T) {
	vocab := map[string]int{"<unk>": 0, "▁": 1, "a": 2, "▁a": 3, "你": 4}
	for b := range 256 {
		vocab["<0x"+strings.ToUpper(string("0123456789abcdef"[b>>4])+string("0123456789abcdef"[b&15]))+">"] = len(vocab)
	}
	tok := load(t, map[string]any{"type": "BPE", "vocab": vocab, "merges": []string{"▁ a"}, "byte_fallback": true, "unk_token": "<unk>"},
		map[string]any{"normalizer": map[string]any{"type": "Replace", "pattern": map[string]string{"String": " "}, "content": "▁"}})
	if got := strings.Join(pieces(t, tok, "你 a好"), "|"); got != "你| a|\xe5|\xa5|\xbd" {
		t.Errorf("got %q", got)
	}
}

func TestTextIsNormalisedFirst(t *testing.T) {
	for form, want := range map[string]string{"NFC": "\xc3\xa9|\xef\xbc\xa1", "NFKC": "\xc3\xa9|A"} {
		tok := load(t, map[string]any{"type": "BPE", "vocab": vocabulary("Ã©", "ï¼", "ï¼¡"), "merges": []string{"Ã ©", "ï ¼", "ï¼ ¡"}},
			map[string]any{"normalizer": map[string]any{"type": form}, "pre_tokenizer": byteLevel})
		if got := strings.Join(pieces(t, tok, "e\u0301Ａ"), "|"); got != want {
			t.Errorf("%s: got %q, want %q", form, got, want)
		}
	}
}

func TestOtherTokenizersAreRefusedWithAReason(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string]string{
		"unigram": `{"model":{"type":"Unigram"}}`, "no JSON": `x`,
		"normaliser": `{"normalizer":{"type":"Precompiled"},"model":{"type":"BPE"}}`, "split": `{"pre_tokenizer":{"type":"Whitespace"},"model":{"type":"BPE"}}`,
	} {
		path := filepath.Join(dir, "t.json")
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path); err == nil || len(err.Error()) < 20 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
