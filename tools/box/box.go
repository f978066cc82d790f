// Package box puts all tools of a run together: built in, user-defined, those of
// skills and of connectors. To the runner they are entries of one map.
package box

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"perch/chat"
	"perch/config"
	"perch/tools"
	"perch/tools/desk"
	"perch/tools/exec"
	"perch/tools/know"
	"perch/tools/mcp"
	"perch/tools/places"
	"perch/tools/skills"
	"perch/tools/userdef"
	"perch/tools/web"
)

// Options are what a box is made of.
type Options struct {
	Config    func() config.Config
	Paths     config.Paths
	Executor  *exec.Executor
	Places    *places.Places
	Desktop   desk.Desktop
	Knowledge know.Searcher
	// Memory is the memory tool.
	Memory chat.Tool
	// Images makes pictures; ImagesReady reports whether a model for them is set.
	Images      desk.Generator
	ImagesReady func() bool
	// Extract reads documents that are no text; nil reads none.
	Extract tools.Extractor
	// Key returns a credential by the name of its variable.
	Key func(name string) string
	// Tokens keeps the sign-ins of connectors; nil keeps them until Close.
	Tokens mcp.TokenStore
	// Notice receives sentences for the user.
	Notice func(string)
	Log    *slog.Logger
}

// rereadEvery is how long the user's tools and skills are taken as they were
// read. A new file is found by the next run after it.
const rereadEvery = 2 * time.Second

// Box holds the tools.
type Box struct {
	o       Options
	builtin []chat.Tool
	mcp     *mcp.Manager

	mu     sync.Mutex // protects the rest
	read   time.Time
	user   []chat.Tool
	skills *skills.Set
	said   map[string]bool
}

// New returns a box. Close ends its connectors.
func New(o Options) *Box {
	b := &Box{o: o, said: map[string]bool{}}
	b.builtin = append(b.builtin, tools.Files(o.Places, o.Extract)...)
	b.builtin = append(b.builtin, tools.RunCommand(o.Executor), know.Search(o.Knowledge), o.Memory)
	b.builtin = append(b.builtin, web.Tools(web.Options{Config: func() config.Web { return o.Config().Web }, Key: o.Key})...)
	b.builtin = append(b.builtin, desk.Tools(o.Desktop, o.Places)...)
	opts := []mcp.Option{mcp.WithTools(func() map[string]config.Tool { return o.Config().Tools })}
	if o.Tokens != nil {
		opts = append(opts, mcp.WithTokens(o.Tokens))
	}
	b.mcp = mcp.NewManager(func() map[string]config.Connector { return o.Config().Connectors }, o.Notice, opts...)
	return b
}

// Connectors are the MCP servers, for their sign-in.
func (b *Box) Connectors() *mcp.Manager { return b.mcp }

// Close ends the connectors.
func (b *Box) Close() { b.mcp.Close() }

// Tools returns the tools of a run. One that cannot be added costs only itself.
func (b *Box) Tools(context.Context) []chat.Tool {
	cfg := b.o.Config()
	set := tools.Set{}
	add := func(list ...chat.Tool) {
		for _, t := range list {
			if cfg.Tools[t.Definition().Name].Off {
				continue
			}
			if err := set.Add(t); err != nil {
				b.say(err.Error())
			}
		}
	}
	add(b.builtin...)
	if b.o.ImagesReady() {
		add(desk.GenerateImage(b.o.Images))
	}
	b.mu.Lock()
	b.reread()
	user, sk := b.user, b.skills
	b.mu.Unlock()
	if len(sk.Skills) > 0 {
		add(sk.ReadSkill())
	}
	add(user...)
	add(sk.Tools...)
	add(b.mcp.Tools()...)
	return set.Tools()
}

// Skills is the section of the system prompt.
func (b *Box) Skills() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reread()
	return b.skills.Index()
}

// reread reads the user's tools and skills anew. mu is held.
func (b *Box) reread() {
	if b.skills != nil && time.Since(b.read) < rereadEvery {
		return
	}
	b.read = time.Now()
	o := userdef.Options{Runner: b.o.Executor, Settings: func() map[string]config.Tool { return b.o.Config().Tools }, Origin: "user tool"}
	var problems []userdef.Problem
	b.user, problems = userdef.Load(b.o.Paths.Tools(), o)
	b.skills = skills.Load(b.o.Paths.Skills(), o)
	for _, p := range append(problems, b.skills.Problems...) {
		b.sayOnce(p.String())
	}
}

func (b *Box) say(line string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sayOnce(line)
}

// sayOnce tells the user of a problem the first time it is met. mu is held.
func (b *Box) sayOnce(line string) {
	if b.said[line] {
		return
	}
	b.said[line] = true
	b.o.Log.Warn("a tool could not be used", "problem", line)
	if b.o.Notice != nil {
		b.o.Notice(line)
	}
}

// SpoolIn returns a function that makes the spool folder of a session below dir.
func SpoolIn(dir string) func(session string) (string, error) {
	return func(session string) (string, error) {
		p := dir + string(os.PathSeparator) + session
		if err := os.MkdirAll(p, 0o700); err != nil {
			return "", fmt.Errorf("make the folder for long output: %w", err)
		}
		return p, nil
	}
}
