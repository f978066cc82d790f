package know

import (
	"context"
	"testing"

	"perch/chat"
	"perch/providers"
	"perch/providers/builtin"
	"perch/tools"
	"perch/tools/desk"
	"perch/tools/exec"
	"perch/tools/places"
	"perch/tools/web"
)

// The built-in stand-in turns slash commands into calls by the names and inputs
// of these tools; both must agree.
func TestSlashCommandsFitTheSchemasOfTheTools(t *testing.T) {
	set := tools.Set{}
	e := exec.New(exec.Config{})
	defer e.Close()
	home := places.New(t.TempDir())
	for _, list := range [][]chat.Tool{
		tools.Files(home, nil), {tools.RunCommand(e), Search(&fakeBase{})}, desk.Tools(nil, nil), web.Tools(web.Options{}),
	} {
		if err := set.Add(list...); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{
		"/clip", "/shot", "/run ls -la", "/find the lease", "/read notes.md", "/list", "/list src", "/search func main(", "/fetch https://example.org", "/web perch",
		"when does the lease of the workshop end?",
	} {
		res, err := builtin.New().Complete(context.Background(), providers.Request{
			Model: builtin.Models()[0], Tools: set.Definitions(), Messages: []chat.Message{chat.UserText(line)},
		})
		calls := res.Message.Calls()
		if err != nil || len(calls) != 1 {
			t.Errorf("%s: %v, %d calls: %s", line, err, len(calls), res.Message.PlainText())
			continue
		}
		tool, ok := set.Get(calls[0].Name)
		if !ok {
			t.Errorf("%s: no tool %s", line, calls[0].Name)
			continue
		}
		if err := tools.Validate(tool.Definition(), []byte(calls[0].Input)); err != nil {
			t.Errorf("%s: %s: %v", line, calls[0].Input, err)
		}
	}
}
