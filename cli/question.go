package cli

import (
	"fmt"
	"os"
	"strings"
	"time"

	"perch/chat"
	"perch/control"
)

// deadTime is how long a question takes no answer, so that nobody answers it by
// typing on.
const deadTime = 500 * time.Millisecond

// parseAnswer reads the answer to a permission question. There is no default: an
// empty line is none. Words after a no are told to the model.
func parseAnswer(line string, always bool) (a control.Answer, ok bool) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	word = strings.ToLower(strings.TrimRight(word, ".,:;!"))
	rest = strings.TrimSpace(rest)
	switch word {
	case "y", "yes", "once":
		a.Verdict = control.Once
	case "s", "session":
		a.Verdict = control.InRun
	case "a", "always":
		if !always {
			return a, false
		}
		a.Verdict = control.Always
	case "n", "no":
		a.Verdict, a.Words = control.No, rest
		return a, true
	default:
		return a, false
	}
	return a, rest == "" // "yes but …" is no plain yes
}

// offersAlways reports whether a question may be answered for always.
func offersAlways(q *chat.Permission) bool {
	for _, n := range q.Needs {
		if n.Once || n.Secret || n.Uncertain {
			return false
		}
	}
	return true
}

// question is the text of a permission question. What will happen is shown
// whole, with control characters made visible.
func (a *app) question(q *chat.Permission) string {
	var b strings.Builder
	b.WriteString(a.t("cli.question", visible(q.Name), a.t("cli.need."+string(q.Need))) + "\n")
	details := []string{q.Detail}
	for _, n := range q.Needs {
		d := n.Detail
		if d == "" {
			d = n.Subject
		}
		if d != "" && !strings.Contains(strings.Join(details, "\n"), d) {
			details = append(details, d)
		}
	}
	for _, d := range details {
		for _, line := range strings.Split(strings.TrimRight(visible(d), "\n"), "\n") {
			b.WriteString("    " + line + "\n")
		}
	}
	if offersAlways(q) {
		b.WriteString(a.t("cli.answers_always"))
	} else {
		b.WriteString(a.t("cli.answers"))
	}
	return b.String()
}

// terminalQuestions asks on a terminal.
type terminalQuestions struct {
	app  *app
	view *textView // that shows the answer, nil with --json
	tty  *os.File  // nil where input is no terminal
}

func (t *terminalQuestions) show(q *chat.Permission) {
	if t.view != nil {
		t.view.side(t.app.question(q))
	} else {
		t.app.note(t.app.question(q))
	}
}

func (t *terminalQuestions) ready() {
	if t.tty != nil {
		dropTyped(t.tty)
	}
	fmt.Fprint(t.app.Stderr, "? ")
}

func (t *terminalQuestions) read(q *chat.Permission, line string) (control.Answer, bool) {
	a, ok := parseAnswer(line, offersAlways(q))
	if !ok {
		fmt.Fprint(t.app.Stderr, t.app.t("cli.answer_again")+"\n? ")
	}
	return a, ok
}

func (t *terminalQuestions) settled() { t.app.note("") }
