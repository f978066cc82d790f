package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"perch/harness/tokens"
)

// letterTokenizer writes a tokenizer in which every byte is a token.
func letterTokenizer(t *testing.T) string {
	t.Helper()
	vocab := map[string]int{}
	next := 256
	for b := range 256 {
		r := rune(b)
		if !(b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae) {
			r = rune(next)
			next++
		}
		vocab[string(r)] = b
	}
	data, err := json.Marshal(map[string]any{
		"pre_tokenizer": map[string]any{"type": "ByteLevel"},
		"model":         map[string]any{"type": "BPE", "vocab": vocab, "merges": []string{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tokenizer.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWeightsFittedForAModelWin(t *testing.T) {
	t.Cleanup(func() { _ = tokens.LoadUser(t.TempDir()) })
	texts, dir := t.TempDir(), t.TempDir()
	text := strings.Repeat("A sentence of a few plain words, with a number such as 42.\n\nAnother paragraph follows here.\n", 800)
	if err := os.WriteFile(filepath.Join(texts, "a.txt"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	if err := run([]string{"--tokenizer", letterTokenizer(t), "--for", "local/bytes", "--out", dir, texts}, &out, &errOut); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "local/bytes") {
		t.Errorf("said %q", out.String())
	}
	if err := tokens.LoadUser(dir); err != nil {
		t.Fatal(err)
	}
	s := "A paragraph of plain words follows."
	if n := tokens.ForModel("local/bytes").Text(s); n < len(s)*9/10 || n > len(s)*11/10 {
		t.Errorf("%d tokens for %d bytes", n, len(s))
	}
}

func TestWrongUseSaysWhatIsNeeded(t *testing.T) {
	var out, errOut bytes.Buffer
	for _, args := range [][]string{{}, {"--tokenizer", "x"}, {"nonsense"}, {"--bad"}, {"fit"}} {
		if _, ok := run(args, &out, &errOut).(errUsage); !ok {
			t.Errorf("%v is not wrong usage", args)
		}
	}
	small := filepath.Join(t.TempDir(), "s.txt")
	if err := os.WriteFile(small, []byte("too little"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := run([]string{"--tokenizer", letterTokenizer(t), "--for", "m", "--out", t.TempDir(), small}, &out, &errOut)
	if err == nil || !strings.Contains(err.Error(), "at least") {
		t.Errorf("too little text: %v", err)
	}
}

func TestTextIsTakenOutOfItsMarkup(t *testing.T) {
	if got := fromHTML([]byte("<head><title>x</title></head><p>One <b>two</b>\nthree.</p><script>no()</script><pre>a\n  b</pre>")); got != "One two three.\na\n  b" {
		t.Errorf("HTML: %q", got)
	}
	if got := strings.TrimSpace(fromRoff(".TH X 1\n.SH NAME\nfoo \\- does \\fIthings\\fR\n.\\\" comment\n.B bold text\n")); got != "NAME\nfoo - does things\nbold text" {
		t.Errorf("manual page: %q", got)
	}
}
