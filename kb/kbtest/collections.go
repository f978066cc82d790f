// Package kbtest reads public retrieval collections and measures rankings, for
// the tests and comparisons of the knowledge base. The data itself is no part
// of the repository: see [Shared].
package kbtest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// A Doc is a document of a collection.
type Doc struct {
	ID, Text string
}

// A Query is a question with the gain of each relevant document.
type Query struct {
	Text string
	Gain map[string]float64
}

// A Collection is a set of documents with queries whose answers are known.
type Collection struct {
	Name    string
	Docs    []Doc
	Queries []Query
	// Goal is the nDCG@10 that keyword search must reach; MaxEmpty the share of
	// queries that may find nothing.
	Goal     float64
	MaxEmpty float64
}

// Shared finds the folder with recorded data: $PERCH_SHARED, else ../shared
// beside the repository. It returns "" when there is none.
func Shared() string {
	if dir := os.Getenv("PERCH_SHARED"); dir != "" {
		return dir
	}
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for {
		shared := filepath.Join(filepath.Dir(dir), "shared")
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			if _, err := os.Stat(filepath.Join(shared, "retrieval")); err == nil {
				return shared
			}
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// Load reads every collection below the shared folder.
func Load(shared string) ([]Collection, error) {
	root := filepath.Join(shared, "retrieval")
	var out []Collection
	for _, load := range []func(string) ([]Collection, error){cranfield, cosqa, cmrc, jsquad} {
		cs, err := load(root)
		if err != nil {
			return nil, err
		}
		out = append(out, cs...)
	}
	return out, nil
}

func cranfield(root string) ([]Collection, error) {
	c := Collection{Name: "Cranfield", Goal: .383}
	err := cranRecords(filepath.Join(root, "cranfield", "cran.all.1400"), func(id, text string) {
		c.Docs = append(c.Docs, Doc{id, text})
	})
	if err != nil {
		return nil, err
	}
	err = cranRecords(filepath.Join(root, "cranfield", "cran.qry"), func(_, text string) {
		c.Queries = append(c.Queries, Query{text, map[string]float64{}})
	})
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(filepath.Join(root, "cranfield", "cranqrel"))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 3 {
			continue
		}
		q, err1 := strconv.Atoi(f[0])
		code, err2 := strconv.Atoi(f[2])
		if err1 != nil || err2 != nil || q < 1 || q > len(c.Queries) {
			return nil, fmt.Errorf("cranqrel: %q", line)
		}
		// 1 is a complete answer, 4 of minimum interest; -1 does not count.
		if code >= 1 && code <= 4 {
			c.Queries[q-1].Gain[f[1]] = 1
		}
	}
	return []Collection{c}, nil
}

// cranRecords reads the .I/.T/.W format; title and text are what counts.
func cranRecords(path string, f func(id, text string)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	id, part := "", ""
	var text strings.Builder
	sc := bufio.NewScanner(file)
	for sc.Scan() {
		l := sc.Text()
		switch {
		case strings.HasPrefix(l, ".I "):
			if id != "" {
				f(id, text.String())
			}
			id, part = strings.TrimSpace(l[3:]), ""
			text.Reset()
		case l == ".T" || l == ".A" || l == ".B" || l == ".W":
			part = l
		case part == ".T" || part == ".W":
			text.WriteString(l + "\n")
		}
	}
	if id != "" {
		f(id, text.String())
	}
	return sc.Err()
}

func cosqa(root string) ([]Collection, error) {
	c := Collection{Name: "CoSQA", Goal: .39}
	var docs map[string]int
	if err := readJSON(filepath.Join(root, "cosqa", "code_idx_map.txt"), &docs); err != nil {
		return nil, err
	}
	for text, n := range docs {
		c.Docs = append(c.Docs, Doc{strconv.Itoa(n), text})
	}
	sort.Slice(c.Docs, func(i, j int) bool {
		a, _ := strconv.Atoi(c.Docs[i].ID)
		b, _ := strconv.Atoi(c.Docs[j].ID)
		return a < b
	})
	for _, name := range []string{"cosqa-retrieval-dev-500.json", "cosqa-retrieval-test-500.json"} {
		var qs []struct {
			Doc    string `json:"doc"`
			Answer int    `json:"retrieval_idx"`
		}
		if err := readJSON(filepath.Join(root, "cosqa", name), &qs); err != nil {
			return nil, err
		}
		for _, q := range qs {
			c.Queries = append(c.Queries, Query{q.Doc, map[string]float64{strconv.Itoa(q.Answer): 1}})
		}
	}
	return []Collection{c}, nil
}

// squad is the form that CMRC 2018 and JSQuAD share.
type squad struct {
	Data []struct {
		Paragraphs []struct {
			Context string `json:"context"`
			QAs     []struct {
				Question string `json:"question"`
				Answers  []struct {
					Text string `json:"text"`
				} `json:"answers"`
			} `json:"qas"`
		} `json:"paragraphs"`
	} `json:"data"`
}

func (s *squad) collection(name string) Collection {
	c := Collection{Name: name}
	at := map[string]string{}
	for _, d := range s.Data {
		for _, p := range d.Paragraphs {
			id, ok := at[p.Context]
			if !ok {
				id = strconv.Itoa(len(c.Docs))
				at[p.Context] = id
				c.Docs = append(c.Docs, Doc{id, p.Context})
			}
			for _, q := range p.QAs {
				c.Queries = append(c.Queries, Query{q.Question, map[string]float64{id: 1}})
			}
		}
	}
	return c
}

func cmrc(root string) ([]Collection, error) {
	var s squad
	if err := readJSON(filepath.Join(root, "cmrc2018", "cmrc2018_dev.json"), &s); err != nil {
		return nil, err
	}
	c := s.collection("CMRC 2018")
	c.Goal = .985
	return []Collection{c, shortQueries(&s, c)}, nil
}

// maxShort is the longest answer, in characters, that serves as a short query.
const maxShort = 6

// shortQueries makes a collection whose queries are the answer strings. Every
// paragraph that holds the string is relevant.
func shortQueries(s *squad, c Collection) Collection {
	out := Collection{Name: c.Name + " short", Docs: c.Docs, Goal: .97, MaxEmpty: .01}
	seen := map[string]bool{}
	for _, d := range s.Data {
		for _, p := range d.Paragraphs {
			for _, q := range p.QAs {
				if len(q.Answers) == 0 {
					continue
				}
				a := strings.TrimSpace(q.Answers[0].Text)
				if n := len([]rune(a)); n < 2 || n > maxShort || seen[a] {
					continue
				}
				seen[a] = true
				gain := map[string]float64{}
				for _, doc := range c.Docs {
					if strings.Contains(doc.Text, a) {
						gain[doc.ID] = 1
					}
				}
				out.Queries = append(out.Queries, Query{a, gain})
			}
		}
	}
	return out
}

func jsquad(root string) ([]Collection, error) {
	var s squad
	if err := readJSON(filepath.Join(root, "jsquad", "valid-v1.3.json"), &s); err != nil {
		return nil, err
	}
	c := s.collection("JSQuAD")
	c.Goal = .93
	return []Collection{c}, nil
}

func readJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
