package tools

import (
	"encoding/json"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestTheExampleOfTheDocumentationWorksWhenPasted(t *testing.T) {
	if testing.Short() {
		t.Skip("it is compiled")
	}
	doc, err := os.ReadFile("../docs/tools.md")
	if err != nil {
		t.Fatal(err)
	}
	fence := regexp.MustCompile("(?s)\n   ```(go|markdown)\n(.*?)\n   ```\n")
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir()
	replace := map[string]string{}
	for _, m := range fence.FindAllStringSubmatch(string(doc), -1) {
		name := "word_count." + map[string]string{"go": "go", "markdown": "md"}[m[1]]
		text := strings.ReplaceAll("\n"+m[2], "\n   ", "\n") + "\n"
		if err := os.WriteFile(filepath.Join(tmp, name), []byte(text[1:]), 0o644); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(here, name)] = filepath.Join(tmp, name)
	}
	if len(replace) != 2 {
		t.Fatalf("found %d examples", len(replace))
	}
	list, err := os.ReadFile("file.go")
	if err != nil {
		t.Fatal(err)
	}
	added := strings.Replace(string(list), "return []chat.Tool{", "return []chat.Tool{wordCount{f}, ", 1)
	if err := os.WriteFile(filepath.Join(tmp, "file.go"), []byte(added), 0o644); err != nil {
		t.Fatal(err)
	}
	replace[filepath.Join(here, "file.go")] = filepath.Join(tmp, "file.go")
	overlay, _ := json.Marshal(map[string]any{"Replace": replace})
	if err := os.WriteFile(filepath.Join(tmp, "overlay.json"), overlay, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := osexec.Command("go", "vet", "-overlay", filepath.Join(tmp, "overlay.json"), ".").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
