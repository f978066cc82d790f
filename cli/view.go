package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"perch/chat"
)

// slowTool is the duration from which a finished tool call is worth a line.
const slowTool = time.Second

// gistRunes is how much of a call's arguments a line shows.
const gistRunes = 100

// jsonView writes one event a line.
type jsonView struct{ out io.Writer }

func (v *jsonView) event(e chat.Event, raw []byte) error {
	if d, ok := e.(*chat.Done); ok {
		b, err := encodeDone(d)
		if err != nil {
			return err
		}
		raw = b
	}
	_, err := v.out.Write(append(append(make([]byte, 0, len(raw)+1), raw...), '\n'))
	return err
}

// encodeDone writes an empty list as one, not as null.
func encodeDone(d *chat.Done) ([]byte, error) {
	cp := *d
	if cp.Result.ToolFailures == nil {
		cp.Result.ToolFailures = []chat.ToolFailures{}
	}
	return json.Marshal(&cp)
}

// failedDone is the last line of a run that could not begin or whose end was
// not seen.
func failedDone(session, run string, err *chat.Error) *chat.Done {
	stop := chat.StopError
	if err.Class == chat.ClassAborted {
		stop = chat.StopAborted
	}
	d := &chat.Done{Result: chat.Result{Session: session, StopReason: stop, Error: err}}
	chat.Stamp(d, run, 1)
	return d
}

// textView writes an answer for people: to a terminal as it comes, with what is
// withdrawn erased; to a pipe or file each model call's text once it is whole.
type textView struct {
	app  *app
	out  io.Writer
	live bool // out is a terminal
	size func() size

	text    []byte // of the model call at work, as it came, on a terminal
	fixed   int    // bytes of its visible form that can no longer be erased: a line came between
	pending strings.Builder
	midLine bool // the terminal's cursor stands behind text
	names   map[string]string
}

func (a *app) newTextView() *textView {
	live := isTerminal(a.Stdout) && a.Getenv("TERM") != "dumb" && obeysCodes(a.Stdout)
	return &textView{app: a, out: a.Stdout, live: live, size: func() size { return terminalSize(a.Stdout) }, names: map[string]string{}}
}

func (v *textView) event(e chat.Event, _ []byte) error {
	t := v.app.t
	switch e := e.(type) {
	case *chat.TextDelta:
		return v.delta(e.Text)
	case *chat.Retry:
		if err := v.withdraw(e.Withdrawn.TextBytes); err != nil {
			return err
		}
		if e.Reason != "" {
			v.side(t("cli.retry", e.Attempt, visible(e.Reason), short(e.Wait)))
		}
	case *chat.ToolStart:
		if err := v.endCall(); err != nil {
			return err
		}
		v.names[e.ID] = e.Name
		v.side("→ " + e.Name + gist(e.Input))
	case *chat.ToolProgress:
		v.side("  " + visible(firstLine(e.Message)))
	case *chat.ToolEnd:
		switch {
		case e.IsError:
			v.side(t("cli.tool_failed", e.Name, cut(visible(firstLine(e.Result)), gistRunes)))
		case e.Duration >= slowTool:
			v.side(t("cli.tool_done", e.Name, short(e.Duration)))
		}
	case *chat.Compaction:
		v.side(t("cli.compaction", e.TokensBefore, e.TokensAfter))
	case *chat.Notice:
		v.side("· " + visible(v.app.texts.Notice(e)))
	case *chat.Done:
		return v.done(&e.Result)
	}
	return nil
}

func (v *textView) delta(s string) error {
	if !v.live {
		v.pending.WriteString(s)
		return nil
	}
	v.text = append(v.text, s...)
	if s != "" {
		v.midLine = !strings.HasSuffix(s, "\n")
	}
	_, err := io.WriteString(v.out, visible(s))
	return err
}

// withdraw takes back the last n bytes of the model's text.
func (v *textView) withdraw(n int) error {
	if !v.live {
		s := v.pending.String()
		v.pending.Reset()
		v.pending.WriteString(s[:max(0, len(s)-n)])
		return nil
	}
	if n == 0 || len(v.text) == 0 {
		return nil
	}
	shown := visible(string(v.text))
	v.text = v.text[:max(0, len(v.text)-n)]
	keep := visible(string(v.text))
	from := min(v.fixed, len(shown))
	codes, ok := "", len(keep) >= from
	if ok {
		codes, ok = erase(shown[from:], keep[from:], v.size())
	}
	if !ok {
		// A part is out of reach: say so, and begin anew below.
		codes = "\n" + v.app.t("cli.withdrawn") + "\n" + keep
		v.fixed, from = 0, 0
	}
	v.midLine = len(keep) > from && !strings.HasSuffix(keep, "\n")
	_, err := io.WriteString(v.out, codes)
	return err
}

// endCall ends the text of a model call.
func (v *textView) endCall() error {
	var s string
	if !v.live {
		if s = v.pending.String(); s != "" && !strings.HasSuffix(s, "\n") {
			s += "\n"
		}
		v.pending.Reset()
	} else if v.midLine {
		s = "\n"
	}
	v.text, v.fixed, v.midLine = v.text[:0], 0, false
	if s == "" {
		return nil
	}
	_, err := io.WriteString(v.out, s)
	return err
}

// side writes a line that is no part of the answer.
func (v *textView) side(s string) {
	if v.live && v.midLine {
		fmt.Fprintln(v.out)
		v.midLine = false
	}
	v.fixed = len(visible(string(v.text)))
	v.app.note(s)
}

func (v *textView) done(r *chat.Result) error {
	if err := v.endCall(); err != nil {
		return err
	}
	t := v.app.t
	switch {
	case r.Error != nil && r.StopReason != chat.StopAborted:
		v.side("perch: " + visible(v.app.sentence(r.Error)))
	case r.StopReason == chat.StopAborted:
		v.side(t("err.aborted"))
	case r.StopReason != chat.StopEnd && v.app.texts.Has("cli.stop."+string(r.StopReason)):
		v.side(t("cli.stop." + string(r.StopReason)))
	}
	return nil
}

// gist is a call's arguments on one line.
func gist(input json.RawMessage) string {
	s := strings.TrimSpace(string(input))
	var m map[string]json.RawMessage
	if json.Unmarshal(input, &m) == nil {
		if len(m) == 0 {
			return ""
		}
		if len(m) == 1 {
			for _, raw := range m {
				var text string
				if json.Unmarshal(raw, &text) == nil {
					s = text
				}
			}
		}
	}
	return " " + cut(visible(strings.Join(strings.Fields(s), " ")), gistRunes)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// cut shortens s to n runes.
func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// short is a duration for people.
func short(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 10*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f min", d.Minutes())
}
