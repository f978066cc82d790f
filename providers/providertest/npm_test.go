package providertest_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"perch/chat"
	"perch/providers"
	"perch/providers/providertest"
)

const mockVendor = `
const { LLMock } = require(process.argv[2] + '/node_modules/@copilotkit/aimock');
process.stdin.resume(); process.stdin.on('end', () => process.exit(0));
(async () => {
  const m = new LLMock({ port: 0 });
  m.addFixture({ match: { hasToolResult: true }, response: { content: 'It is 22 degrees in Lisbon.' } });
  m.addFixture({ match: { userMessage: 'weather' }, response: { toolCalls: [{ name: 'get_weather', arguments: JSON.stringify({ city: 'Lisbon' }) }] } });
  await m.start();
  console.log(m.url || m.baseUrl);
})();
`

// A conversation with a tool against a mock that others wrote: a second opinion
// on the form of requests.
func TestAConversationWithAToolOnEachWireAgainstAMock(t *testing.T) {
	base := providertest.Node(t, mockVendor, "@copilotkit/aimock")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, g := range targets {
		if g.provider == "openrouter" || g.wire == "openai-chat" && g.provider != "openai" {
			continue // the mock has one form of Chat Completions
		}
		t.Run(g.wire, func(t *testing.T) {
			url := base
			if strings.HasPrefix(g.wire, "openai") {
				url += "/v1"
			}
			p := g.make(providers.Endpoint{Name: g.provider, BaseURL: url, Client: client, Credentials: providers.StaticCredentials{Token: "test-key"}})
			req := providertest.Request(g.provider, g.model)
			req.Messages = []chat.Message{chat.UserText("What is the weather in Lisbon?")}
			req.Tools = []chat.ToolDef{{Name: "get_weather", Description: "Weather of a city.", Schema: []byte(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)}}
			first, err := p.Complete(context.Background(), req)
			if err != nil {
				t.Fatal(err)
			}
			m := first.Message
			calls := m.Calls()
			if len(calls) != 1 || calls[0].Name != "get_weather" || m.Stop != chat.StopTools {
				t.Fatalf("%+v", m)
			}
			if in, ok := calls[0].ValidInput(); !ok || !strings.Contains(string(in), "Lisbon") {
				t.Errorf("%s", calls[0].Input)
			}
			calls[0].ID = "call-1"
			req.Messages = append(req.Messages, m, chat.Message{Role: chat.RoleTool, Result: &chat.ToolResult{CallID: "call-1", Name: "get_weather", Text: "22 degrees"}})
			second, err := p.Complete(context.Background(), req)
			if err != nil {
				t.Fatal(err)
			}
			if text := second.Message.PlainText(); text != "It is 22 degrees in Lisbon." || second.Message.Stop != chat.StopEnd {
				t.Errorf("%q %s", text, second.Message.Stop)
			}
		})
	}
}
