package openaichat

import "strings"

// thinkingStyle is how a vendor takes its own thinking back.
type thinkingStyle uint8

const (
	noThinking       thinkingStyle = iota
	reasoningContent               // a text member beside content, with tool calls
	reasoningDetails               // OpenRouter's list of typed details
	thinkingBlocks                 // Mistral's content blocks
	reasoningText                  // a member "reasoning" beside content, with tool calls
)

// effortStyle is how a vendor is told how much to think.
type effortStyle uint8

const (
	noEffort       effortStyle = iota
	effortMember               // "reasoning_effort": "low"
	effortObject               // "reasoning": {"effort": "low"}
	thinkingSwitch             // "thinking": {"type": "enabled"}
	enableThinking             // "enable_thinking": true
)

// compat is what a vendor deviates in. The zero row is the plainest server.
type compat struct {
	thinking thinkingStyle
	effort   effortStyle
	// completionTokens sends the limit as max_completion_tokens.
	completionTokens bool
	// noStreamOptions leaves out the request for usage; the vendor sends it by
	// itself and refuses what it does not know.
	noStreamOptions bool
	developerRole   bool // the system prompt's role for models that reason
	// exactIDs and idLength are what call ids must be like.
	exactIDs bool
	idLength int
	// merge joins consecutive user messages: chat templates demand alternation.
	merge bool
	// bridge puts a short assistant message between a tool result and a user
	// message, which the vendor refuses to see side by side.
	bridge bool
	// cacheKey sends prompt_cache_key; cacheHeader sends the key in a header.
	cacheKey    bool
	cacheHeader string
	// breakpoints marks what to cache in requests for Anthropic's models.
	breakpoints bool
	// resultName repeats the tool's name with its result.
	resultName bool
	// toolStream asks for arguments in pieces.
	toolStream bool
	noTools    bool
}

// idLimit is OpenAI's limit for call ids, which others have copied.
const idLimit = 40

// vendors are the rows by vendor. What is not here gets the row "".
var vendors = map[string]compat{
	"":           {idLength: idLimit, merge: true},
	"openai":     {idLength: idLimit, effort: effortMember, completionTokens: true, developerRole: true, cacheKey: true},
	"azure":      {idLength: idLimit, effort: effortMember, completionTokens: true, developerRole: true, cacheKey: true},
	"deepseek":   {idLength: idLimit, thinking: reasoningContent, effort: thinkingSwitch},
	"groq":       {idLength: idLimit, thinking: reasoningText, effort: effortMember, completionTokens: true},
	"mistral":    {idLength: 9, exactIDs: true, thinking: thinkingBlocks, noStreamOptions: true, merge: true, bridge: true, resultName: true},
	"openrouter": {idLength: idLimit, thinking: reasoningDetails, effort: effortObject, breakpoints: true},
	"vercel":     {idLength: idLimit, thinking: reasoningDetails, effort: effortObject, breakpoints: true},
	"xai":        {idLength: idLimit, thinking: reasoningContent, effort: effortMember, cacheHeader: "x-grok-conv-id"},
	"together":   {idLength: idLimit, thinking: reasoningText, effort: effortMember},
	"moonshot":   {idLength: idLimit, thinking: reasoningContent, effort: thinkingSwitch, cacheKey: true},
	"zai":        {idLength: idLimit, thinking: reasoningContent, effort: thinkingSwitch, toolStream: true},
	"qwen":       {idLength: idLimit, thinking: reasoningContent, effort: enableThinking},
	"lmstudio":   {idLength: idLimit, merge: true, thinking: reasoningText, effort: effortMember},
	"llamacpp":   {idLength: idLimit, merge: true, thinking: reasoningContent},
	"vllm":       {idLength: idLimit, merge: true, thinking: reasoningContent},
	"cerebras":   {idLength: idLimit, effort: effortMember, completionTokens: true},
	"perplexity": {idLength: idLimit, merge: true, noTools: true},
}

// hosts finds a vendor by a part of its address.
var hosts = []struct{ part, vendor string }{
	{"api.openai.com", "openai"}, {".openai.azure.com", "azure"}, {"deepseek.com", "deepseek"}, {"groq.com", "groq"},
	{"mistral.ai", "mistral"}, {"openrouter.ai", "openrouter"}, {"ai-gateway.vercel.sh", "vercel"}, {"api.x.ai", "xai"},
	{"together.", "together"}, {"moonshot.", "moonshot"}, {"bigmodel.cn", "zai"}, {"z.ai", "zai"},
	{"dashscope", "qwen"}, {"cerebras.ai", "cerebras"}, {"perplexity.ai", "perplexity"},
	{":1234/", "lmstudio"}, {":8080/", "llamacpp"}, {":8000/", "vllm"},
}

// vendorOf names the row for an endpoint: what the settings say, then the name,
// then the address.
func vendorOf(compat, name, baseURL string) string {
	for _, v := range []string{compat, name} {
		if _, ok := vendors[v]; ok && v != "" {
			return v
		}
	}
	for _, h := range hosts {
		if strings.Contains(baseURL+"/", h.part) {
			return h.vendor
		}
	}
	return ""
}
