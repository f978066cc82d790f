// Perch is a tray assistant: a hotkey opens a small window, a question typed
// there becomes an agent run on the user's own machine.
//
// This file wires the parts together and has no logic of its own. The same
// program plays several roles, told by a hidden first argument: a client of the
// control socket (every command), the owner of store and socket, the desktop
// role, and the two stages of a confined command.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"gopkg.in/natefinch/lumberjack.v2"

	"perch/chat"
	"perch/cli"
	"perch/config"
	"perch/control"
	"perch/harness"
	"perch/harness/hub"
	"perch/harness/memory"
	"perch/harness/permission"
	"perch/harness/service"
	"perch/harness/snapshot"
	"perch/harness/tokens"
	"perch/kb"
	"perch/kb/backend"
	"perch/kb/backend/postgres"
	"perch/kb/extract"
	"perch/providers"
	"perch/providers/auth"
	"perch/providers/builtin"
	"perch/providers/embed"
	"perch/store"
	"perch/tools"
	"perch/tools/box"
	"perch/tools/exec"
	"perch/tools/places"
	"perch/tray"
	"perch/tray/desktop"
	"perch/tray/footprint"
)

// Set by the linker.
var (
	version = "dev"
	commit  = ""
)

// ownerRole is the first argument of a detached owner.
const ownerRole = "owner-role"

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if code, handled := exec.Main(args); handled {
		return code
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(args) > 0 && args[0] == desktop.Argument {
		return desktop.Main(ctx, os.Stdin, os.Stdout)
	}
	paths, err := config.DefaultPaths()
	if err != nil {
		fmt.Fprintln(os.Stderr, "perch:", err)
		return 1
	}
	if len(args) > 0 && args[0] == ownerRole {
		return own(ctx, paths, nil)
	}
	return cli.Run(ctx, args, cli.Env{
		Paths: paths, Version: thisVersion(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		StartOwner: func() error { return service.Detach(ownerRole) },
		StartTray: func(ctx context.Context) int {
			env := cli.Desktop()
			return own(ctx, paths, &env)
		},
	})
}

func thisVersion() control.Version {
	return control.Version{Version: version, Commit: commit, Protocol: control.Protocol, PID: os.Getpid()}
}

// own is the owner: it holds the store, the runs and the socket until it is asked
// to end. With a desktop it is the tray from the start.
func own(ctx context.Context, paths config.Paths, desk *control.DesktopEnv) int {
	o, err := open(ctx, paths)
	if errors.Is(err, control.ErrOwned) {
		return 0 // another one was faster; clients find it
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "perch:", err)
		return 1
	}
	defer o.close()
	if desk != nil {
		if err := o.owner.BecomeTray(ctx, *desk); err != nil {
			fmt.Fprintln(os.Stderr, "perch:", err)
		}
	} else {
		o.icon.Serve(cli.Desktop())
	}
	service.Started()
	go o.owner.Linger(ctx)
	served := make(chan error, 1)
	go func() { served <- o.server.Serve() }()
	select {
	case <-ctx.Done():
	case <-o.owner.Done():
	case err := <-served:
		if err != nil {
			fmt.Fprintln(os.Stderr, "perch:", err)
			return 1
		}
	}
	return 0
}

// parts are what an owner is made of.
type parts struct {
	owner   *service.Owner
	icon    *tray.Tray
	server  *control.Server
	closers []func() // run in reverse order
}

func (p *parts) close() {
	for i := len(p.closers) - 1; i >= 0; i-- {
		p.closers[i]()
	}
}

func (p *parts) onClose(f func()) { p.closers = append(p.closers, f) }

// open builds an owner. What was opened before an error is closed again.
func open(ctx context.Context, paths config.Paths) (_ *parts, err error) {
	p := &parts{}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if err := paths.Make(); err != nil {
		return nil, err
	}
	lock, err := control.TakeOver(ctx, paths)
	if err != nil {
		return nil, err
	}
	p.onClose(func() { lock.Release() })
	if err := service.Shield(); err != nil {
		return nil, fmt.Errorf("close this process to others: %w", err)
	}
	log := logTo(paths, p)
	ctx, cancel := context.WithCancel(ctx)
	p.onClose(cancel)

	settings := service.NewSettings(paths.ConfigFile)
	db, err := store.Open(store.Options{Path: paths.SessionsDB(), Images: paths.Images()})
	if err != nil {
		return nil, err
	}
	p.onClose(func() { db.Close() })
	if err := tokens.LoadUser(paths.Calibration()); err != nil {
		log.Warn("own weights were not read", "error", err.Error())
	}
	var perch *hub.Hub
	var models *service.Models
	keys := service.NewAuth(settings.Get, paths, func() { models.Reload(); perch.StateChanged() })
	models, err = service.NewModels(settings.Get, keys, func() { perch.StateChanged() })
	if err != nil {
		return nil, err
	}
	secret := places.New(home(), paths.Data, paths.ConfigFile, paths.Tools(), paths.Skills(), paths.Runtime)
	executor := exec.New(exec.Config{Sandbox: func() config.Sandbox { return settings.Get().Sandbox }, Places: secret, Scrub: auth.Redact})
	p.onClose(executor.Close)
	mem := memory.Open(db)
	book, err := permission.NewBook(db, func(tool string) bool { return settings.Get().Tools[tool].Allow })
	if err != nil {
		return nil, err
	}
	copies, err := snapshot.Open(filepath.Join(paths.Data, "undo"))
	if err != nil {
		return nil, err
	}
	icon := tray.New(tray.Options{
		Watch:  func(ctx context.Context, send func(control.State) error) error { return p.owner.WatchState(ctx, send) },
		Config: settings.Get, Quit: func() { p.owner.Quit(ctx) },
		Changed: func() { perch.StateChanged() }, Log: log,
	})
	p.icon = icon
	p.onClose(icon.Close)
	var kit *box.Box // filled in below, before the first run
	ratios := service.NewRatios(db)
	perch = hub.New(hub.Options{
		Store: db, Config: settings.Get, Revert: copies, Log: log, CanAsk: icon.CanAsk,
		NeedKey: models.NeedKey, WithKeys: models.WithKeys, Model: models.Default, Environ: cli.ToolEnviron, Asked: builtin.Asked,
		Runner: harness.Options{
			Models: models, Validate: tools.Validate, Permissions: book, Snapshots: copies,
			Estimator: func(m providers.ModelInfo) harness.Estimator { return tokens.ForModel(m.String()) },
			Tools:     func(ctx context.Context) []chat.Tool { return kit.Tools(ctx) },
			Skills:    func() string { return kit.Skills() }, Memory: mem.Section, Scrub: auth.Redact,
			SpoolDir: box.SpoolIn(paths.Spool()), Ratio: ratios.Factor, Learn: ratios.Learn,
		},
		Outcome: func(o hub.Outcome) {
			icon.Tell(tray.Outcome{Session: o.Session.ID, Title: o.Session.Title, Result: o.Result, Question: o.Question, Took: o.Took})
		},
		SessionEnded: func(id string) { executor.CloseSession(id); book.EndSession(id) },
	})
	index := shared(ctx, settings.Get().KB, func(line string) { perch.Problem(line) })
	knowledge, err := kb.Open(kb.Options{
		Backend: index, Path: paths.KnowledgeDB(), Config: func() config.KB { return settings.Get().KB },
		Embedder: vectors(models.Embedder()), EmbedderFor: func(name string) kb.Embedder { return vectors(models.EmbedderNamed(name)) },
		Notice:  func(line string) { perch.Problem(line) },
		Exclude: []string{paths.Data},
	})
	if err != nil {
		return nil, err
	}
	p.onClose(func() { knowledge.Close() })
	kit = box.New(box.Options{
		Config: settings.Get, Paths: paths, Executor: executor, Places: secret, Desktop: icon, Memory: mem.Tool(),
		Knowledge: knowledge, Images: models.Images(), ImagesReady: service.ImagesReady(settings.Get),
		Extract: func(ctx context.Context, path string) (string, error) {
			doc, err := extract.FileContext(ctx, path, extract.Options{})
			return doc.Text, err
		},
		Tokens: keys, Key: os.Getenv, Notice: func(line string) { perch.Problem(line) }, Log: log,
	})
	p.onClose(kit.Close)
	keys.SetConnectors(kit.Connectors(), func(name string) bool { _, ok := settings.Get().Connectors[name]; return ok })
	p.owner = service.NewOwner(service.OwnerOptions{
		Hub: perch, StartTray: func(_ context.Context, env control.DesktopEnv) error { return icon.Start(env) },
		Hotkey:   func() control.HotkeyState { return icon.Status().Hotkey },
		Problems: func() []string { return icon.Status().Problems },
		Busy:     []func() bool{icon.Busy, knowledge.Busy, func() bool { return len(executor.Jobs("")) > 0 }},
		Mistake:  settings.Mistake, FirstStart: models.FirstStart,
		Checks: append(icon.Checks(), models.Check),
		Trim:   func() { perch.Trim(); footprint.Trim() },
		Upkeep: func() { logged(log, "clean the store", db.Purge()) },
	})
	embedding := settings.Get().Embedding
	settings.OnChange(func(c config.Config) {
		icon.Reload()
		models.Reload()
		if c.Embedding != embedding {
			embedding = c.Embedding
			knowledge.SetEmbedder(vectors(models.Embedder()))
		}
		perch.StateChanged()
	})
	service.Go(log, "watching documents", func() { logged(log, "watch the documents", knowledge.Watch(ctx)) })
	service.Go(log, "watching the settings", func() { settings.Watch(ctx) })
	p.server, err = control.NewServer(control.Options{
		Paths: paths, Version: thisVersion(), Tray: p.owner.Tray, Log: func(line string) { log.Warn(line) },
		Services: control.Services{
			Sessions: perch, Runs: perch, Models: models, Settings: settings, Knowledge: knowledge, Memory: mem,
			Auth: keys, Rules: book, Desktop: icon, Front: icon.Front(), Owner: p.owner,
		},
	})
	if err != nil {
		return nil, err
	}
	p.onClose(func() { p.server.Close() })
	p.onClose(perch.Close)
	return p, nil
}

// logTo opens the log that all processes share. It holds no message text.
func logTo(paths config.Paths, p *parts) *slog.Logger {
	file := &lumberjack.Logger{Filename: paths.Log(), MaxSize: 5, MaxBackups: 3}
	p.onClose(func() { file.Close() })
	return slog.New(slog.NewTextHandler(file, nil))
}

// logged writes a failure of work in the background to the log.
func logged(log *slog.Logger, what string, err error) {
	if err != nil {
		log.Warn("could not "+what, "error", err.Error())
	}
}

// shared is the index in a database, where the settings say so; nil is the file,
// also where the database cannot be reached: documents must not keep Perch from
// starting.
func shared(ctx context.Context, set config.KB, notice func(string)) backend.Backend {
	if set.Backend != "postgres" {
		return nil
	}
	b, err := postgres.Open(ctx, set.PostgresURL, notice)
	if err != nil {
		notice(chat.AsError(err).Message)
		return nil
	}
	return b
}

// vectors is an embedder for the knowledge base, none where it cannot be had.
func vectors(e *embed.Embedder, err error) kb.Embedder {
	if e == nil || err != nil {
		return nil
	}
	return e
}

func home() string {
	dir, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return dir
}
