package tokens

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"perch/assets/weights"
)

// The tokenizer families that weights are shipped for.
const (
	O200k    = "o200k"    // OpenAI since gpt-4o
	CL100k   = "cl100k"   // gpt-4, gpt-3.5
	Qwen     = "qwen"     // Qwen 2 and later
	DeepSeek = "deepseek" // DeepSeek V3, R1
	Llama3   = "llama3"   // Llama 3 and later
	Gemma    = "gemma"    // Gemma 3, Gemini
	Claude   = "claude"   // the last public vocabulary; later ones are learned by ratio
	Default  = "default"  // the mean of all
)

// Families are all of them, in the order of the tables.
var Families = []string{O200k, CL100k, Qwen, DeepSeek, Llama3, Gemma, Claude, Default}

// familyRules say which family a model belongs to. The first rule whose word
// occurs in the model id, in lower case, decides: more special ones come first.
var familyRules = []struct{ word, family string }{
	{"deepseek-r1-distill-qwen", Qwen}, {"deepseek-r1-distill-llama", Llama3},
	{"deepseek", DeepSeek},
	{"qwen", Qwen}, {"qwq", Qwen}, {"qvq", Qwen},
	{"gemma", Gemma}, {"gemini", Gemma},
	{"claude", Claude},
	{"gpt-3.5", CL100k}, {"gpt-35", CL100k}, {"gpt-4-", CL100k}, {"text-embedding-3", CL100k}, {"text-embedding-ada", CL100k},
	{"gpt-4o", O200k}, {"gpt-4.", O200k}, {"chatgpt", O200k}, {"gpt-oss", O200k}, {"gpt-", O200k}, {"codex", O200k},
	{"llama-2", Default}, {"llama2", Default}, {"codellama", Default},
	{"llama", Llama3}, {"hermes-3", Llama3}, {"nemotron", Llama3},
}

// FamilyOf chooses the family of "provider/model" or a bare model id.
func FamilyOf(model string) string {
	m := strings.ToLower(model)
	id := m[strings.LastIndexByte(m, '/')+1:]
	if id == "gpt-4" {
		return CL100k
	}
	for _, r := range familyRules {
		if strings.Contains(m, r.word) {
			return r.family
		}
	}
	switch {
	case len(id) > 1 && id[0] == 'o' && id[1] >= '1' && id[1] <= '9':
		return O200k // o1, o3-mini, o4-mini
	case strings.HasPrefix(m, "openai/"):
		return O200k
	case strings.HasPrefix(m, "anthropic/"):
		return Claude
	}
	return Default
}

var shipped struct {
	sync.Mutex
	m map[string]*Estimator
}

// ForFamily returns the shipped weights of a family; an unknown one is Default.
func ForFamily(family string) *Estimator {
	shipped.Lock()
	defer shipped.Unlock()
	if e := shipped.m[family]; e != nil {
		return e
	}
	data, err := weights.Files.ReadFile(family + ".json")
	if err != nil {
		family = Default
		data, err = weights.Files.ReadFile(family + ".json")
	}
	var e *Estimator
	if err == nil {
		e, err = parse(data)
	}
	if err != nil {
		// The files are part of the program; a test reads each.
		panic(fmt.Sprintf("tokens: shipped weights of %s: %v", family, err))
	}
	e.shape = shapeOf("", family)
	if shipped.m == nil {
		shipped.m = make(map[string]*Estimator)
	}
	shipped.m[family] = e
	return e
}

// user holds the weights that the user fitted, by model id, and what was
// already chosen.
var user struct {
	sync.RWMutex
	m    map[string]*Estimator
	made map[string]*Estimator
}

// LoadUser reads the weights that the user fitted, replacing those read
// before. A file that cannot be read is reported and costs only itself; a
// missing folder is none.
func LoadUser(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return fmt.Errorf("look for weights in %s: %w", dir, err)
	}
	m := make(map[string]*Estimator)
	var first error
	for _, f := range files {
		if err := loadUserFile(f, m); err != nil && first == nil {
			first = fmt.Errorf("weights in %s were not read: %w; run perch calibrate again or delete the file", f, err)
		}
	}
	user.Lock()
	user.m, user.made = m, nil
	user.Unlock()
	return first
}

func loadUserFile(path string, into map[string]*Estimator) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var w Weights
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	e, err := build(&w, data)
	if err != nil {
		return err
	}
	for _, id := range w.Models {
		into[strings.ToLower(id)] = e
	}
	return nil
}

// ForModel returns the estimator for "provider/model" or a bare model id:
// weights that the user fitted for it, else those of its family. A model's
// tokenizer is the same at every provider, so weights fitted for "a/m" also
// serve "m" and "b/m".
func ForModel(model string) *Estimator {
	key := strings.ToLower(model)
	user.RLock()
	e := user.made[key]
	user.RUnlock()
	if e != nil {
		return e
	}
	family := FamilyOf(model)
	base := ForFamily(family)
	user.Lock()
	defer user.Unlock()
	own := user.m[key]
	if own == nil {
		id := bare(key)
		for k, u := range user.m {
			if bare(k) == id {
				own = u
			}
		}
	}
	if own != nil {
		base = own
	}
	made := *base
	made.shape = shapeOf(key, family)
	if user.made == nil {
		user.made = make(map[string]*Estimator)
	}
	// A session may name any model; the table must not grow for ever.
	if len(user.made) >= maxMade {
		clear(user.made)
	}
	user.made[key] = &made
	return &made
}

// maxMade bounds the estimators kept ready; more models than that in one
// session of work were never seen, and making one again is cheap.
const maxMade = 256

func bare(model string) string { return model[strings.LastIndexByte(model, '/')+1:] }
