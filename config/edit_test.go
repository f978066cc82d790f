package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// flat lists every value of a settings file by its dotted key.
func flat(t rapid.TB, data []byte) map[string]any {
	c, m := parse(data)
	if m != nil {
		t.Fatalf("line %d: %s\n%s", m.line, m.what, data)
	}
	raw, err := JSON(c)
	if err != nil {
		t.Fatalf("%v", err)
	}
	var tree map[string]any
	if err := json.Unmarshal(raw, &tree); err != nil {
		t.Fatalf("%v", err)
	}
	out := map[string]any{}
	var walk func(prefix string, v any)
	walk = func(prefix string, v any) {
		if m, ok := v.(map[string]any); ok {
			for k, x := range m {
				walk(prefix+"."+k, x)
			}
			return
		}
		out[strings.TrimPrefix(prefix, ".")] = v
	}
	walk("", tree)
	return out
}

// blocks are pieces of settings files as people write them; of each group at
// most one is taken, since TOML defines a table once.
var (
	rootBlocks = [][]string{
		{"", "model = \"a/b\" # mine\n", "\n# the model\nmodel = '''\nx'''\n"},
		{"", "hotkey = \"\"\n", "  hotkey = \"f1\"   \n"},
		{"", "popup.theme = \"dark\"\npopup.pinned = true\n", "popup = { theme = \"dark\", text_scale = 1.5 } # one line\n"},
	}
	tableBlocks = [][]string{
		{"", "[context]\ncompact_at = 0.5\n", "\n# compaction\n[ context ] # c\n\n  # share\n  compact_at = 0.5\n"},
		{"", "[kb]\nfolders = [\n  \"a\", # one\n  \"b]\",\n]\nresults = 5\n", "[kb]\n# nothing yet\n"},
		{"", "[providers.local]\nwire = \"gemini\"\n\n[[providers.local.models]]\nid = \"m\"\n", "[providers]\nlocal = { wire = \"gemini\" }\n", "[providers.\"lo cal2\".headers]\nX = \"1\"\n"},
		{"", "[[prompts]]\nname = \"p\"\ntext = \"t\"\n[[prompts]]\nname = \"q\"\ntext = \"u\"", "\n[limits]\nretries=3"},
	}
	// changes are keys with a value that differs from every default and block.
	changes = map[string]any{
		"model": "new/m", "hotkey": "ctrl+f9", "popup.theme": "light", "popup.text_scale": 2.0, "popup.pinned": true, "context.compact_at": 0.75,
		"kb.results": 9.0, "kb.threshold": 0.25, "kb.folders": []any{"x", "y"}, "limits.retries": 7.0, "limits.cost_per_day": 1.5,
		"providers.local.base_url": "http://h/v1", "providers.other.wire": "ollama", "notify.off": true, "web.search": "brave",
	}
)

func TestAnEditChangesItsKeyAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var doc string
		for i, g := range rootBlocks {
			doc += rapid.SampledFrom(g).Draw(t, fmt.Sprint("root", i))
		}
		for i, g := range tableBlocks {
			if doc != "" && !strings.HasSuffix(doc, "\n") {
				doc += "\n"
			}
			doc += rapid.SampledFrom(g).Draw(t, fmt.Sprint("table", i))
		}
		if _, m := parse([]byte(doc)); m != nil {
			t.Skip(m.what) // the blocks do not fit together
		}
		if rapid.Bool().Draw(t, "crlf") {
			doc = strings.ReplaceAll(doc, "\n", "\r\n")
		}
		data := []byte(doc)
		for range rapid.IntRange(1, 4).Draw(t, "edits") {
			key := rapid.SampledFrom(sortedKeys(changes)).Draw(t, "key")
			var value any
			if !rapid.Bool().Draw(t, "remove") {
				value = changes[key]
			}
			before := flat(t, data)
			out, err := edit(data, key, value)
			if err != nil {
				t.Fatalf("%s: %v\n%s", key, err, data)
			}
			after := flat(t, out)
			if value != nil && !reflect.DeepEqual(after[key], value) {
				t.Fatalf("%s is %v, want %v\n%s\nbecame\n%s", key, after[key], value, data, out)
			}
			for _, side := range []map[string]any{before, after} {
				for k := range side {
					// A new entry of [providers] brings its empty fields along.
					if k == key || strings.HasPrefix(k, strings.Join(strings.Split(key, ".")[:2-1], ".")+".") && strings.HasPrefix(key, "providers.") {
						continue
					}
					if !reflect.DeepEqual(before[k], after[k]) {
						t.Fatalf("setting %s changed %s from %v to %v\n%s\nbecame\n%s", key, k, before[k], after[k], data, out)
					}
				}
			}
			if n, m := strings.Count(string(data), "# "), strings.Count(string(out), "# "); value != nil && m < n && key != "kb.folders" {
				t.Fatalf("a comment is lost\n%s\nbecame\n%s", data, out)
			}
			data = out
		}
	})
}
