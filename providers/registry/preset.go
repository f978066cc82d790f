package registry

import (
	"net"
	"net/url"
	"sort"
	"strings"

	"perch/config"
	"perch/providers/auth"
)

// The wire formats.
const (
	WireAnthropic = "anthropic"
	WireResponses = "openai-responses"
	WireChat      = "openai-chat"
	WireGemini    = "gemini"
	WireOllama    = "ollama"
)

// preset is what is built in for a well-known provider.
type preset struct {
	wire    string
	baseURL string
	env     []string // variables that hold its key, in this order
	compat  string
	catalog string // its name in the catalogue, where that differs
	noKey   bool
	// model is taken where the user names none.
	model string
}

var presets = map[string]preset{
	"anthropic":  {wire: WireAnthropic, baseURL: "https://api.anthropic.com", env: []string{"ANTHROPIC_API_KEY"}, model: "claude-sonnet-4-6"},
	"openai":     {wire: WireResponses, baseURL: "https://api.openai.com/v1", env: []string{"OPENAI_API_KEY"}, compat: "openai"},
	"gemini":     {wire: WireGemini, baseURL: "https://generativelanguage.googleapis.com", env: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, model: "gemini-2.5-pro"},
	"deepseek":   {wire: WireChat, baseURL: "https://api.deepseek.com/v1", env: []string{"DEEPSEEK_API_KEY"}, compat: "deepseek"},
	"groq":       {wire: WireChat, baseURL: "https://api.groq.com/openai/v1", env: []string{"GROQ_API_KEY"}, compat: "groq"},
	"mistral":    {wire: WireChat, baseURL: "https://api.mistral.ai/v1", env: []string{"MISTRAL_API_KEY"}, compat: "mistral", model: "mistral-large-latest"},
	"openrouter": {wire: WireChat, baseURL: "https://openrouter.ai/api/v1", env: []string{"OPENROUTER_API_KEY"}, compat: "openrouter"},
	"xai":        {wire: WireChat, baseURL: "https://api.x.ai/v1", env: []string{"XAI_API_KEY"}, compat: "xai"},
	"together":   {wire: WireChat, baseURL: "https://api.together.xyz/v1", env: []string{"TOGETHER_API_KEY"}, compat: "together", model: "meta-llama/Llama-3.3-70B-Instruct-Turbo"},
	"moonshot":   {wire: WireChat, baseURL: "https://api.moonshot.ai/v1", env: []string{"MOONSHOT_API_KEY"}, compat: "moonshot"},
	"zai":        {wire: WireChat, baseURL: "https://api.z.ai/api/paas/v4", env: []string{"ZAI_API_KEY", "Z_AI_API_KEY"}, compat: "zai"},
	"zhipu":      {wire: WireChat, baseURL: "https://open.bigmodel.cn/api/paas/v4", env: []string{"ZHIPU_API_KEY"}, compat: "zai"},
	"qwen":       {wire: WireChat, baseURL: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", env: []string{"DASHSCOPE_API_KEY", "QWEN_API_KEY"}, compat: "qwen", catalog: "alibaba-singapore"},
	"alibaba":    {wire: WireChat, baseURL: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", env: []string{"DASHSCOPE_API_KEY"}, compat: "qwen", catalog: "alibaba-singapore"},
	"cerebras":   {wire: WireChat, baseURL: "https://api.cerebras.ai/v1", env: []string{"CEREBRAS_API_KEY"}, compat: "cerebras"},
	"fireworks":  {wire: WireChat, baseURL: "https://api.fireworks.ai/inference/v1", env: []string{"FIREWORKS_API_KEY"}},
	"perplexity": {wire: WireChat, baseURL: "https://api.perplexity.ai", env: []string{"PERPLEXITY_API_KEY"}, compat: "perplexity", model: "sonar"},
	"vercel":     {wire: WireChat, baseURL: "https://ai-gateway.vercel.sh/v1", env: []string{"AI_GATEWAY_API_KEY", "VERCEL_API_KEY"}, compat: "vercel"},
	"ollama":     {wire: WireOllama, baseURL: "http://127.0.0.1:11434", noKey: true},
	"lmstudio":   {wire: WireChat, baseURL: "http://127.0.0.1:1234/v1", compat: "lmstudio", noKey: true},
	"llamacpp":   {wire: WireChat, baseURL: "http://127.0.0.1:8080/v1", compat: "llamacpp", noKey: true},
	"vllm":       {wire: WireChat, baseURL: "http://127.0.0.1:8000/v1", compat: "vllm", noKey: true},
}

// catalogOnly are entries of the catalogue whose wires or sign-ins are not
// spoken here.
var catalogOnly = map[string]bool{"bedrock": true, "bedrock-europe": true, "vertexai": true, "copilot": true, "azure": true}

// spec is a provider as it is to be used: preset, catalogue and settings.
type spec struct {
	name, wire, baseURL, compat, catalog, model string
	env                                         []string
	noKey, local                                bool
	set                                         config.Provider
}

// specOf joins what is known of a provider; false where nothing is.
func specOf(cfg config.Config, name string) (spec, bool) {
	p, preset := presets[name]
	set, configured := cfg.Providers[name]
	s := spec{name: name, wire: p.wire, baseURL: p.baseURL, compat: p.compat, catalog: p.catalog, model: p.model, env: p.env, noKey: p.noKey, set: set}
	if s.catalog == "" {
		s.catalog = name
	}
	if !preset {
		c, listed := catalogued(name)
		if !listed && (!configured || set.BaseURL == "") {
			return spec{}, false
		}
		if listed {
			s.wire, s.baseURL, s.env, s.model = c.wire, c.baseURL, c.env, c.model
		}
	}
	if set.Wire != "" {
		s.wire = set.Wire
	}
	if set.BaseURL != "" {
		s.baseURL = set.BaseURL
	}
	if set.Compat != "" {
		s.compat = set.Compat
	}
	if set.APIKeyEnv != "" {
		s.env = []string{set.APIKeyEnv}
	}
	if s.wire == "" {
		s.wire = WireChat
	}
	s.local = isLocal(s.baseURL)
	if set.Local != nil {
		s.local = *set.Local
	}
	// A server of the user's own that names no key needs none.
	s.noKey = s.noKey || s.local && set.APIKeyEnv == "" || !preset && configured && set.APIKeyEnv == "" && set.OAuth == nil && len(s.env) == 0
	if set.OAuth != nil {
		s.noKey = false
	}
	return s, true
}

// isLocal reports whether an address is on this machine or its own network.
func isLocal(baseURL string) bool {
	u, err := url.Parse(baseURL)
	if err != nil {
		return false
	}
	host := u.Hostname()
	if host == "localhost" || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && (ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast())
}

// KeyVariables are the environment variables that may hold a provider's key.
func KeyVariables(cfg config.Config, provider string) []string {
	s, _ := specOf(cfg, provider)
	return s.env
}

// Names are the providers that are known without asking the catalogue: the
// presets and those of the settings, sorted.
func Names(cfg config.Config) []string {
	seen := map[string]bool{}
	for n := range presets {
		seen[n] = true
	}
	for n := range cfg.Providers {
		seen[n] = true
	}
	out := make([]string, 0, len(seen))
	for n := range seen {
		out = append(out, n)
	}
	sort.Strings(out)
	return out
}

// AuthSpec is what a credential store must know of a provider.
func AuthSpec(cfg config.Config, provider string) auth.Spec {
	s, _ := specOf(cfg, provider)
	return auth.Spec{Env: s.env, OAuth: s.set.OAuth}
}
