package registry

import (
	"regexp"
	"strings"
	"sync"

	"charm.land/catwalk/pkg/catwalk"
	"charm.land/catwalk/pkg/embedded"

	"perch/providers"
)

// entry is one provider of the catalogue.
type entry struct {
	wire, baseURL, model string
	env                  []string
	models               map[string]providers.ModelInfo
	order                []string
}

// catalog is read when it is first needed: parsing it takes milliseconds that no
// start should pay.
var catalog = sync.OnceValue(func() map[string]entry {
	out := map[string]entry{}
	for _, p := range embedded.GetAll() {
		id := string(p.ID)
		if catalogOnly[id] {
			continue
		}
		e := entry{wire: wireOf(p.Type), model: p.DefaultLargeModelID, models: make(map[string]providers.ModelInfo, len(p.Models))}
		if !strings.HasPrefix(p.APIEndpoint, "$") {
			e.baseURL = strings.Clone(p.APIEndpoint)
		}
		if v, ok := strings.CutPrefix(p.APIKey, "$"); ok {
			e.env = []string{v}
		}
		for _, m := range p.Models {
			e.models[m.ID] = infoOf(id, m)
			e.order = append(e.order, m.ID)
		}
		out[id] = e
	}
	return out
})

func wireOf(t catwalk.Type) string {
	switch t {
	case catwalk.TypeAnthropic:
		return WireAnthropic
	case catwalk.TypeGoogle:
		return WireGemini
	}
	return WireChat
}

// infoOf: the catalogue's "in cached" is the price of writing the cache, its
// "out cached" that of reading it. It lists only models that take tools.
func infoOf(provider string, m catwalk.Model) providers.ModelInfo {
	return providers.ModelInfo{
		Provider: provider, ID: m.ID, Name: m.Name,
		ContextWindow: int(m.ContextWindow), MaxOutput: int(m.DefaultMaxTokens),
		Vision: m.SupportsImages, Reasoning: m.CanReason, Tools: true, Known: true,
		CostIn: m.CostPer1MIn, CostOut: m.CostPer1MOut, CostCacheRead: m.CostPer1MOutCached, CostCacheWrite: m.CostPer1MInCached,
	}
}

func catalogued(name string) (entry, bool) {
	e, ok := catalog()[name]
	return e, ok && e.baseURL != ""
}

// dated is the date that vendors append to a model's name.
var dated = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-(20\d{2}-\d{2}-\d{2}|20\d{6})$`) })

// fromCatalog finds a model's facts, also under its name with a date.
func fromCatalog(provider, id string) (providers.ModelInfo, bool) {
	e := catalog()[provider]
	for _, name := range []string{id, dated().ReplaceAllString(id, ""), strings.TrimSuffix(id, "-latest")} {
		if m, ok := e.models[name]; ok {
			m.ID = id
			return m, true
		}
	}
	for _, name := range e.order { // the list has the name with a date
		if dated().MatchString(name) && dated().ReplaceAllString(name, "") == id {
			m := e.models[name]
			m.ID = id
			return m, true
		}
	}
	return providers.ModelInfo{}, false
}
