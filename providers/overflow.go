package providers

import (
	"regexp"
	"strings"
	"sync"
)

// notOverflow are words that tell a throttled request from a full window.
var notOverflow = []string{"rate limit", "rate_limit", "ratelimit", "too many requests", "throttlingexception", "tokens per minute", "tokens per day", "(tpm)"}

// overflowTexts are the ways in which vendors say that the window is full, most
// specific first, in lower case. They are compiled at the first error, not at
// the start of the process.
var overflowTexts = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`prompt is too long`),                                          // Anthropic, Bedrock
		regexp.MustCompile("input length and `?max_tokens`? exceed context limit"),        // Anthropic
		regexp.MustCompile(`extra usage is required for long context`),                    // Anthropic plan
		regexp.MustCompile(`request exceeds the maximum size`),                            // Anthropic, bytes
		regexp.MustCompile(`input exceeds the context window`),                            // OpenAI Responses
		regexp.MustCompile(`maximum context length (is|of) [0-9,x]+`),                     // OpenAI, DeepSeek, OpenRouter, vLLM
		regexp.MustCompile(`exceeds? the model'?s? (maximum )?context`),                   // LiteLLM
		regexp.MustCompile(`context ?window ?exceeded`),                                   // LiteLLM
		regexp.MustCompile(`input token count .*exceeds the maximum number of tokens`),    // Gemini
		regexp.MustCompile(`maximum prompt length is`),                                    // xAI
		regexp.MustCompile(`reduce the length of the messages`),                           // Groq, OpenAI
		regexp.MustCompile(`exceeds the maximum allowed input length`),                    // Poolside
		regexp.MustCompile(`^token limit reached`),                                        // OpenRouter, in the stream
		regexp.MustCompile(`too large for model with .*maximum context length`),           // Mistral
		regexp.MustCompile(`input is too long`),                                           // Bedrock
		regexp.MustCompile(`too many total text bytes`),                                   // Bedrock
		regexp.MustCompile(`prompt token count of .*exceeds the limit`),                   // Copilot
		regexp.MustCompile(`exceeds the available context size`),                          // llama.cpp
		regexp.MustCompile(`tokens to keep from the initial prompt is greater than`),      // LM Studio
		regexp.MustCompile(`prompt too long`),                                             // Ollama, z.ai
		regexp.MustCompile(`exceeded max context length`),                                 // Ollama
		regexp.MustCompile(`context window exceeds limit`),                                // MiniMax
		regexp.MustCompile(`prompt exceeds max length`),                                   // z.ai
		regexp.MustCompile(`tokens in request more than max tokens allowed`),              // z.ai
		regexp.MustCompile(`(context|prompt|input) (length|size|window)[^.]{0,40}exceed`), // unknown servers
		regexp.MustCompile(`exceed[^.]{0,40}context (length|size|window|limit)`),          // unknown servers
	}
})

// overflowCodes are error codes and types that mean nothing else.
var overflowCodes = []string{"context_length_exceeded", "exceed_context_size_error", "contextwindowexceedederror", "model_context_window_exceeded", "request_too_large", "1261"}

// isOverflow decides whether a refusal means that the request does not fit the
// model's window.
func isOverflow(f Failure) bool {
	if f.Status == 429 {
		return false
	}
	text := strings.ToLower(f.Message)
	for _, s := range notOverflow {
		if strings.Contains(text, s) {
			return false
		}
	}
	for _, c := range overflowCodes {
		if strings.EqualFold(f.Code, c) || strings.EqualFold(f.Type, c) {
			return true
		}
	}
	for _, re := range overflowTexts() {
		if re.MatchString(text) {
			return true
		}
	}
	if f.Status == 413 {
		return text == "" || strings.Contains(text, "failed to parse request") || strings.Contains(text, "too large")
	}
	// Cerebras says nothing at all.
	return f.Status == 400 && f.Empty && strings.Contains(f.Host, "cerebras")
}
