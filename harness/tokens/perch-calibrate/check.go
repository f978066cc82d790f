package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"

	"perch/harness/tokens"
	"perch/harness/tokens/reference"
)

// oddities are strings on which tokenizers were seen to differ.
var oddities = []string{
	"", " ", "  ", "\n", "\r\n\r\n", "\t\tx", "a  b   c    d", "trailing   ", "   leading", "x\n\n\n  y\n", "don't I'LL we'Ve", "'s's", "1234567890", "3.14159e-10", "１２３", "½ ⅔ Ⅷ",
	"HTTPServerXMLParser snake_case kebab-case camelCase", "ALLCAPS Titlecase lower", "!!!???...---===", "a//b/*c*/\n/", "{}[]()<>;:,.", "https://example.org/a?b=c&d=e#f",
	"你好，世界！", "人工智能的发展", "繁體中文測試", "こんにちは、元気ですか。", "ｶﾀｶﾅ half ﾊﾟ", "안녕하세요 세계", "각각 한글 자모", "Привет, мир! Ёлка", "Γειά σου Κόσμε", "مرحبا بالعالم", "שלום עולם", "नमस्ते दुनिया", "สวัสดีชาวโลก", "გამარჯობა", "አማርኛ", "ខ្មែរ",
	"é vs e\u0301", "ﬁ ligature ²³", "naïve café Zürich Łódź İstanbul", "🙂", "👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪", "a\u200bb\u00adc", "\u00a0nbsp\u2003em", "\ufeffbom", "\U0001F600\U00020000", "\x00\x01\x7f", "�", "ᄀᄁᄂ", "𝒜𝓁𝓅𝒽𝒶", "▁under▁score", "a▁b ▁ c", "<|endoftext", "<0x41>", "\u2028\u2029", "\v\f", "===== -----  ____", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "ſ ı K",
}

// checkStrings are the strings whose ids are compared: the oddities and messages
// of every kind, whole and in pieces.
func checkStrings(held []message) []string {
	out := slices.Clone(oddities)
	per := map[string]int{}
	for _, m := range held {
		const each = 12
		if per[m.kind]++; per[m.kind] > each {
			continue
		}
		r := []rune(m.text)
		out = append(out, string(r), string(r[len(r)/3:len(r)/2]))
	}
	return out
}

// check compares ids with those of the Rust library. Strings that hold special
// tokens differ on purpose; anything else is an error.
func check(o shipOptions, out io.Writer) error {
	if o.node == "" {
		return errUsage{fmt.Errorf("check needs --node; see harness/tokens/calibrate.sh")}
	}
	docs, err := readCorpus(o.texts)
	if err != nil {
		return err
	}
	_, held := split(docs)
	texts := checkStrings(held)
	input, err := json.Marshal(texts)
	if err != nil {
		return err
	}
	bad := 0
	for _, family := range tokens.Families {
		if packages[family] == "" {
			continue
		}
		cmd := exec.Command("node", o.node, o.npm, o.tokenizer(family))
		cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
		data, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("ask the Rust library about %s: %w", family, err)
		}
		var want [][]int
		if err := json.Unmarshal(data, &want); err != nil {
			return fmt.Errorf("read the ids of the Rust library: %w", err)
		}
		ref, err := reference.Load(o.tokenizer(family))
		if err != nil {
			return err
		}
		differ := 0
		for i, s := range texts {
			got, _, err := ref.Encode(s)
			if err != nil {
				return fmt.Errorf("%s: %w", family, err)
			}
			if err := sameAsLibrary(ref, s, got); err != nil {
				return fmt.Errorf("%s: %w", family, err)
			}
			if !slices.Equal(got, want[i]) {
				differ++
				if differ <= 5 {
					fmt.Fprintf(out, "%s differs on %.60q\n", family, s)
				}
			}
		}
		fmt.Fprintf(out, "%s: %d of %d strings differ\n", family, differ, len(texts))
		bad += differ
	}
	if limit := len(texts) * len(packages) / 100; bad > limit {
		return fmt.Errorf("%d strings differ from the Rust library, at most %d may", bad, limit)
	}
	return nil
}
