package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"perch/chat"
	"perch/control"
)

const (
	// maxPiped bounds what is piped into a question. No model reads more; a
	// larger input belongs into a file.
	maxPiped = 32 << 20
	// maxImage bounds an image file: vendors take less.
	maxImage = 32 << 20
)

// askOptions are the options of ask and chat.
type askOptions struct {
	session string
	fresh   bool
	model   string
	json    bool
	images  []string
	allow   string
	dir     string
	record  string
}

// fileList is an option that can be repeated, once for each file.
type fileList []string

func (l *fileList) String() string     { return strings.Join(*l, " ") }
func (l *fileList) Set(s string) error { *l = append(*l, s); return nil }
func (l *fileList) Type() string       { return "file" }

func (o *askOptions) flags(a *app, c *cobra.Command) {
	f := c.Flags()
	f.StringVarP(&o.session, "session", "s", "", a.t("cli.flag_session"))
	f.BoolVar(&o.fresh, "new", false, a.t("cli.flag_new"))
	f.StringVarP(&o.model, "model", "m", "", a.t("cli.flag_model"))
	f.VarP((*fileList)(&o.images), "image", "i", a.t("cli.flag_image"))
	f.StringVar(&o.allow, "allow", "", a.t("cli.flag_allow"))
	f.StringVar(&o.dir, "dir", "", a.t("cli.flag_dir"))
	f.StringVar(&o.record, "record", "", a.t("cli.flag_record"))
	f.BoolVar(&o.json, "json", false, a.t("cli.flag_json_events"))
}

func (a *app) askCommand() *cobra.Command {
	var o askOptions
	c := &cobra.Command{Use: "ask TEXT", Short: a.t("cli.ask"), Args: cobra.ArbitraryArgs, RunE: func(c *cobra.Command, args []string) error {
		// An interrupt stops the run first; what waits for its end goes on.
		return a.ask(context.WithoutCancel(c.Context()), o, strings.Join(args, " "))
	}}
	o.flags(a, c)
	return c
}

// prepare turns the options into a question without its text.
func (a *app) prepare(o askOptions) (control.Ask, error) {
	if o.fresh && o.session != "" {
		return control.Ask{}, a.misuse("cli.new_and_session")
	}
	allow, bad := parseAllow(o.allow)
	if bad != "" {
		return control.Ask{}, a.misuse("cli.bad_allow", bad)
	}
	q := control.Ask{
		Model: o.model, Allow: allow,
		Env:   toolEnviron(a.Environ, a.settings().Sandbox.Env),
		Holds: heldKeys(a.Environ, a.settings()),
	}
	for _, path := range o.images {
		img, err := a.image(path)
		if err != nil {
			return q, err
		}
		q.Images = append(q.Images, img)
	}
	if o.record != "" {
		abs, err := filepath.Abs(o.record)
		if err != nil {
			return q, a.misuse("cli.bad_file", o.record, err)
		}
		q.Record = abs
	}
	return q, nil
}

// allowed are the kinds that --allow may name.
var allowed = []chat.NeedKind{chat.NeedRead, chat.NeedWrite, chat.NeedExecute, chat.NeedNetwork, chat.NeedDesktop}

// parseAllow reads a list of kinds; bad is the first that is none.
func parseAllow(list string) (kinds []chat.NeedKind, bad string) {
	if strings.TrimSpace(list) == "" {
		return nil, ""
	}
	for _, w := range strings.Split(list, ",") {
		k := chat.NeedKind(strings.ToLower(strings.TrimSpace(w)))
		if !slices.Contains(allowed, k) {
			if w == "" {
				w = ","
			}
			return nil, w
		}
		if !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	return kinds, ""
}

// image reads an image file.
func (a *app) image(path string) (chat.Image, error) {
	f, err := os.Open(path)
	if err != nil {
		return chat.Image{}, a.misuse("cli.bad_file", path, reason(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxImage+1))
	if err != nil {
		return chat.Image{}, a.misuse("cli.bad_file", path, reason(err))
	}
	if len(data) > maxImage {
		return chat.Image{}, a.misuse("cli.image_large", path, maxImage>>20)
	}
	kind := http.DetectContentType(data)
	if !strings.HasPrefix(kind, "image/") {
		return chat.Image{}, a.misuse("cli.no_image", path)
	}
	return chat.Image{MIME: kind, Size: len(data), Name: filepath.Base(path), Data: data}, nil
}

// reason is an error of a file without the path, which the sentence names.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// piped reads what was piped in; "" where nothing was.
func (a *app) piped() (string, error) {
	if isTerminal(a.Stdin) || a.Stdin == nil {
		return "", nil
	}
	data, err := io.ReadAll(io.LimitReader(a.Stdin, maxPiped+1))
	if err != nil && !errors.Is(err, fs.ErrClosed) && !errors.Is(err, syscall.EBADF) {
		return "", a.misuse("cli.bad_stdin", reason(err))
	}
	if len(data) > maxPiped {
		return "", a.misuse("cli.stdin_large", maxPiped>>20)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) {
		return "", a.misuse("cli.stdin_binary")
	}
	return string(data), nil
}

// joinQuestion appends what was piped in to the question.
func joinQuestion(text, piped string) string {
	switch {
	case strings.TrimSpace(piped) == "":
		return text
	case strings.TrimSpace(text) == "" || text == "-":
		return piped
	}
	return text + "\n\n" + piped
}

func (a *app) ask(ctx context.Context, o askOptions, text string) error {
	q, err := a.prepare(o)
	if err != nil {
		return err
	}
	piped, err := a.piped()
	if err != nil {
		return err
	}
	q.Text = joinQuestion(text, piped)
	if strings.TrimSpace(q.Text) == "" && len(q.Images) == 0 {
		return a.misuse("cli.no_question")
	}
	dir, err := folder(o.dir)
	if err != nil {
		return a.misuse("cli.bad_folder", o.dir, reason(err))
	}
	interrupt := make(chan os.Signal, 2)
	signal.Notify(interrupt, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(interrupt)

	session := ""
	result, err := func() (*chat.Result, error) {
		k, err := a.openTalk(ctx, o.session, dir)
		if err != nil {
			return nil, err
		}
		defer k.close()
		session = k.session
		view, hooks, done := a.hooks(o, interrupt)
		defer done()
		q.Interactive = hooks.questions != nil
		r, err := k.run(ctx, q, view, hooks)
		if err != nil {
			k.discard()
		}
		return r, err
	}()
	if err != nil {
		return a.runFailed(o, session, err)
	}
	return outcome(result)
}

// openTalk finds or starts Perch and opens a session; an interrupt ends that.
func (a *app) openTalk(ctx context.Context, session, dir string) (*talk, error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	a.ctx = ctx
	c, err := a.owner()
	if err != nil {
		return nil, err
	}
	if session != "" {
		if session, err = sessionID(ctx, c, session); err != nil {
			return nil, err
		}
	}
	return startTalk(ctx, c, session, dir)
}

// hooks are the view of a run and what answers its questions: a terminal, where
// there is one.
func (a *app) hooks(o askOptions, interrupt <-chan os.Signal) (follower, runHooks, func()) {
	h := runHooks{
		interrupt: interrupt,
		keyFor:    func(name string) (string, bool) { v := a.Getenv(name); return v, v != "" },
		usedKey:   func(name string) { a.note(a.t("cli.key_taken", name)) },
	}
	var view follower = &jsonView{a.Stdout}
	var text *textView
	if !o.json {
		text = a.newTextView()
		view = text
	}
	done := func() {}
	if !isTerminal(a.Stderr) {
		return view, h, done // a question would not be seen
	}
	if f, ok := a.Stdin.(*os.File); ok && isTerminal(f) {
		h.questions, h.typed = &terminalQuestions{a, text, f}, func() <-chan string { return a.input().next() }
	} else if tty := openTerminal(); tty != nil {
		h.questions, h.typed = &terminalQuestions{a, text, tty}, func() <-chan string { return newLines(tty).next() }
		done = func() { tty.Close() }
	}
	return view, h, done
}

// input is standard input by the line.
func (a *app) input() *lines {
	if a.lines == nil {
		a.lines = newLines(a.Stdin)
	}
	return a.lines
}

// runFailed says why a run did not come to its end; the last line of --json is
// always a done.
func (a *app) runFailed(o askOptions, session string, err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return err
	}
	code := exitFailed
	if errors.Is(err, context.Canceled) || chat.ClassOf(err) == chat.ClassAborted {
		code = exitInterrupted
	}
	if o.json {
		b, merr := encodeDone(failedDone(session, "", chat.AsError(err)))
		if merr != nil {
			return merr
		}
		if perr := a.print(string(b)); perr != nil {
			return perr
		}
	}
	if code == exitInterrupted {
		return &failure{code, errors.New(a.t("err.aborted"))}
	}
	return &failure{code, err}
}

// outcome is the exit code of a run that came to its end.
func outcome(r *chat.Result) error {
	switch {
	case r.StopReason == chat.StopAborted:
		return &failure{exitInterrupted, nil}
	case r.Error != nil:
		return &failure{exitFailed, nil}
	}
	return nil
}
