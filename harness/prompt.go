package harness

import (
	_ "embed"
	"runtime"
	"strings"
	"text/template"
	"time"
)

//go:embed prompt/system.md
var systemText string

//go:embed prompt/summary.md
var summaryText string

var systemTemplate = template.Must(template.New("system").Parse(systemText))

// promptData is what the system prompt depends on. It holds no clock finer than
// the date, so that the prompt stays the same from run to run.
type promptData struct {
	OS, Dir, Date  string
	Memory, Skills string
	Tools          bool
}

// systemPrompt assembles the system prompt. The same data give the same bytes.
func systemPrompt(d promptData) string {
	var b strings.Builder
	if err := systemTemplate.Execute(&b, d); err != nil {
		panic("system prompt template: " + err.Error()) // the template is embedded and tested
	}
	return b.String()
}

func promptDate(t time.Time) string { return t.Format("2006-01-02") }

func promptOS() string {
	switch runtime.GOOS {
	case "linux":
		return "Linux"
	case "darwin":
		return "macOS"
	case "windows":
		return "Windows"
	}
	return runtime.GOOS
}
