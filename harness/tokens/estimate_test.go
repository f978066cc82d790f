package tokens

import (
	"testing"

	"perch/chat"
)

func TestEveryShippedFamilyCanBeRead(t *testing.T) {
	for _, f := range Families {
		e := ForFamily(f)
		if e.Family() != f {
			t.Errorf("%s has the weights of %s", f, e.Family())
		}
		if n := e.Text("The quick brown fox jumps over the lazy dog."); n < 8 || n > 14 {
			t.Errorf("%s: %d tokens for an English sentence", f, n)
		}
	}
}

func TestFamilyOfAModel(t *testing.T) {
	for model, want := range map[string]string{
		"openai/gpt-4o": O200k, "openai/gpt-4o-mini": O200k, "gpt-5.2": O200k, "openai/o3-mini": O200k, "o1": O200k,
		"openai/gpt-4": CL100k, "gpt-4": CL100k, "gpt-4-turbo": CL100k, "openai/gpt-3.5-turbo": CL100k, "openai/gpt-4.1": O200k,
		"anthropic/claude-sonnet-4-6": Claude, "openrouter/anthropic/claude-opus-4": Claude, "bedrock/eu.anthropic.claude-x": Claude,
		"gemini/gemini-2.5-pro": Gemma, "ollama/gemma3:4b": Gemma,
		"ollama/qwen3:8b": Qwen, "local/QwQ-32B": Qwen, "deepseek/deepseek-chat": DeepSeek,
		"x/DeepSeek-R1-Distill-Qwen-7B": Qwen, "x/deepseek-r1-distill-llama-70b": Llama3,
		"groq/llama-3.3-70b": Llama3, "meta-llama/Llama-4-Scout": Llama3, "openai/gpt-oss-20b": O200k,
		"local/tiny": Default, "mistral/mistral-large": Default, "": Default, "local/o": Default,
	} {
		if got := FamilyOf(model); got != want {
			t.Errorf("%q is %s, want %s", model, got, want)
		}
	}
}

func TestTextIsCountedWithoutAllocation(t *testing.T) {
	e := ForModel("openai/gpt-4o")
	text := "Hello, world. 你好，世界！ こんにちは 안녕하세요 Привет 123 \n\n\t{\"a\": 1} 👩‍👩‍👧 ---------- \xff"
	if n := testing.AllocsPerRun(100, func() { e.Text(text) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	m := chat.Message{Role: chat.RoleAssistant, Parts: []chat.Part{chat.Text(text), {Type: chat.PartCall, Call: &chat.ToolCall{Name: "f", Input: "{}"}}}}
	if n := testing.AllocsPerRun(100, func() { e.Message(&m) }); n != 0 {
		t.Errorf("%v allocations for a message", n)
	}
}
