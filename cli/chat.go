package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"perch/chat"
	"perch/control"
)

// pasteGap is how soon the next line of a pasted text follows; nobody types that
// fast.
const pasteGap = 30 * time.Millisecond

// demoModel answers the demonstration: it needs no key and no network.
const demoModel = "builtin/perch"

func (a *app) chatCommand() *cobra.Command {
	var o askOptions
	c := &cobra.Command{Use: "chat", Short: a.t("cli.chat"), Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		return a.chat(c.Context(), o)
	}}
	o.flags(a, c)
	return c
}

// conversation is a chat in the terminal.
type conversation struct {
	*app
	o         askOptions
	q         control.Ask // without text
	dir       string
	terminal  bool
	interrupt chan os.Signal
	typed     <-chan string
	talk      *talk
}

// chat asks what is typed, line by line. Without any input it shows one question
// and its answer.
func (a *app) chat(ctx context.Context, o askOptions) error {
	ctx = context.WithoutCancel(ctx) // an interrupt stops a run, not the conversation
	q, err := a.prepare(o)
	if err != nil {
		return err
	}
	dir, err := folder(o.dir)
	if err != nil {
		return a.misuse("cli.bad_folder", o.dir, reason(err))
	}
	v := &conversation{app: a, o: o, q: q, dir: dir, terminal: isTerminal(a.Stdin), interrupt: make(chan os.Signal, 2), typed: a.input().next()}
	signal.Notify(v.interrupt, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(v.interrupt)
	defer func() {
		if v.talk != nil {
			v.talk.close()
			v.talk.discard()
		}
	}()
	if v.terminal && !o.json {
		a.note(a.t("cli.chat_hello"))
	}
	failed := false
	for n := 0; ; n++ {
		line, err := v.read(ctx)
		if err != nil {
			return err
		}
		if line == nil {
			if n == 0 && !v.terminal {
				return v.demonstrate(ctx)
			}
			if failed && !v.terminal {
				return &failure{exitFailed, nil}
			}
			return nil
		}
		switch text := strings.TrimSpace(*line); text {
		case "":
		case "/quit", "/exit":
			return nil
		case "/new":
			v.renew()
		default:
			if err := v.ask(ctx, *line); err != nil {
				var f *failure
				if !errors.As(err, &f) || f.code == exitUsage {
					return err
				}
				failed = true // said already; the next question may do better
			}
		}
	}
}

// read returns the next line, nil at the end of the input. A line that ends in a
// backslash goes on in the next.
func (v *conversation) read(ctx context.Context) (*string, error) {
	var text strings.Builder
	for prompt := "> "; ; prompt = "… " {
		if v.terminal && !v.o.json {
			fmt.Fprint(v.Stderr, prompt)
		}
		select {
		case line, ok := <-v.typed:
			if !ok {
				if text.Len() == 0 {
					return nil, nil
				}
				s := text.String()
				return &s, nil
			}
			if more, ok := strings.CutSuffix(line, `\`); ok {
				text.WriteString(more + "\n")
				continue
			}
			text.WriteString(line)
			if v.terminal {
				v.pasted(&text)
			}
			s := text.String()
			return &s, nil
		case <-v.interrupt:
			v.note("")
			return nil, &failure{exitInterrupted, nil}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// pasted adds the lines that came with the first one: a pasted text is one
// question.
func (v *conversation) pasted(text *strings.Builder) {
	for {
		select {
		case line, ok := <-v.typed:
			if !ok {
				return
			}
			text.WriteString("\n" + line)
		case <-time.After(pasteGap):
			return
		}
	}
}

// renew begins a new session with the next question.
func (v *conversation) renew() {
	if v.talk != nil {
		v.talk.close()
		v.talk.discard()
		v.talk = nil
	}
	v.o.session = ""
}

// open starts the talk with the first question.
func (v *conversation) open(ctx context.Context) error {
	if v.talk != nil {
		return nil
	}
	k, err := v.openTalk(ctx, v.o.session, v.dir)
	if err != nil {
		return err
	}
	v.talk = k
	return nil
}

// ask asks one question. What goes wrong is said and given back as a failure.
func (v *conversation) ask(ctx context.Context, text string) error {
	q := v.q
	q.Text = text
	v.q.Images, v.q.Record = nil, "" // for the first question
	session := ""
	result, err := func() (*chat.Result, error) {
		if err := v.open(ctx); err != nil {
			return nil, err
		}
		session = v.talk.session
		view, hooks, done := v.hooks(v.o, v.interrupt)
		defer done()
		q.Interactive = hooks.questions != nil
		steered := false
		if v.terminal {
			hooks.steer = func(text string) { steered = true; v.steer(ctx, text) }
		}
		r, err := v.talk.run(ctx, q, view, hooks)
		for err == nil && steered && r.StopReason != chat.StopAborted {
			// A word that came too late for its run has started the next.
			run := v.talk.atWork(ctx)
			if steered = run != ""; steered {
				r, err = v.talk.follow(ctx, run, view, hooks)
			}
		}
		return r, err
	}()
	if err == nil {
		return outcome(result)
	}
	if v.talk != nil && !errors.Is(err, context.Canceled) {
		select {
		case <-v.talk.ended: // the connection broke: begin anew with the next question
			v.o.session = v.talk.session
			v.talk.close()
			v.talk = nil
			v.client.Close()
			v.client = nil
		default:
		}
	}
	err = v.runFailed(v.o, session, err)
	var f *failure
	if errors.As(err, &f) && f.err != nil {
		v.complain(f.err)
		return &failure{f.code, nil}
	}
	return err
}

// steer hands a line that was typed while a run works to that run.
func (v *conversation) steer(ctx context.Context, text string) {
	if _, err := v.talk.c.Ask(ctx, v.talk.session, control.Ask{Text: text, Env: v.q.Env, Holds: v.q.Holds, Allow: v.q.Allow, Interactive: true}); err != nil {
		v.complain(err)
		return
	}
	v.note(v.t("cli.steered"))
}

// demonstrate asks one question of Perch's own, so that who pipes nothing in
// sees what an answer looks like.
func (v *conversation) demonstrate(ctx context.Context) error {
	question := v.t("cli.demo_question")
	if v.q.Model == "" {
		v.q.Model = demoModel
	}
	v.note("> " + question)
	return v.ask(ctx, question)
}
