package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"perch/chat"
	"perch/tools/outside"
)

const (
	// maxTools is how many tools of one server are offered: each costs some
	// hundred tokens in every request.
	maxTools = 100
	// maxListed bounds a list that never ends.
	maxListed = 1000
	// maxDescription bounds a tool's description, in runes, and maxSchema its
	// input schema, in bytes.
	maxDescription = 2000
	maxSchema      = 64 << 10
	// maxToolName is the longest name that every vendor accepts.
	maxToolName = 64
)

// list reads the server's tools and offers them from the next run on.
func (s *server) list(ctx context.Context, session *sdk.ClientSession) error {
	var found []*sdk.Tool
	caps := session.InitializeResult().Capabilities
	if caps == nil || caps.Tools != nil {
		for t, err := range session.Tools(ctx, nil) {
			if err != nil {
				return fmt.Errorf("it does not list its tools: %w", err)
			}
			if found = append(found, t); len(found) >= maxListed {
				break
			}
		}
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].Name < found[j].Name })
	if len(found) > maxTools {
		s.say("notice.connector.many_tools", "has %d tools; only the first %d are offered.", len(found), maxTools)
		found = found[:maxTools]
	}
	taken := map[string]bool{}
	var out []chat.Tool
	for _, t := range found {
		name := offeredName(s.name, t.Name, taken)
		if name == "" {
			continue
		}
		out = append(out, &tool{s: s, remote: t.Name, def: chat.ToolDef{
			Name: name, Description: describe(t), Schema: inputSchema(t.InputSchema),
		}})
	}
	if caps != nil && caps.Resources != nil {
		out = append(out, s.resourceTools(taken)...)
	}
	s.mu.Lock()
	s.tools = out
	s.mu.Unlock()
	return nil
}

// offeredName is server__tool in the characters and length that vendors accept.
// A name that had to be changed into one that is taken gets a mark made from the
// original, so that it is the same at every start.
func offeredName(server, name string, taken map[string]bool) string {
	if strings.TrimSpace(name) == "" {
		return ""
	}
	full := plainName(server) + "__" + plainName(name)
	if len(full) > maxToolName || taken[full] {
		sum := sha256.Sum256([]byte(server + "\x00" + name))
		mark := "_" + hex.EncodeToString(sum[:4])
		full = full[:min(len(full), maxToolName-len(mark))] + mark
	}
	if taken[full] {
		return ""
	}
	taken[full] = true
	return full
}

// plainName keeps letters, digits, _ and - of ASCII.
func plainName(s string) string {
	out := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, s)
	if out == "" {
		return "_"
	}
	return out
}

// describe is the description of a tool, bounded and cleaned.
func describe(t *sdk.Tool) string {
	d := outside.Clean(t.Description)
	if strings.TrimSpace(d) == "" {
		d = t.Title
		if t.Annotations != nil && d == "" {
			d = t.Annotations.Title
		}
		if d = outside.Clean(d); d == "" {
			d = "(no description)"
		}
	}
	if r := []rune(d); len(r) > maxDescription {
		d = string(r[:maxDescription]) + "…"
	}
	return strings.TrimSpace(d)
}

// anyInput is the schema of a tool whose own cannot be used.
const anyInput = `{"type":"object"}`

// inputSchema is a tool's schema as JSON. The keys of a map are sorted, so that
// the same schema gives the same bytes.
func inputSchema(v any) json.RawMessage {
	m, ok := v.(map[string]any)
	if !ok {
		return json.RawMessage(anyInput)
	}
	if t, ok := m["type"]; !ok || t == nil {
		m["type"] = "object"
	} else if t != "object" {
		return json.RawMessage(anyInput)
	}
	b, err := json.Marshal(m)
	if err != nil || len(b) > maxSchema {
		return json.RawMessage(anyInput)
	}
	return b
}

// tool is one tool of a server.
type tool struct {
	s      *server
	remote string
	def    chat.ToolDef
}

// Definition describes the tool.
func (t *tool) Definition() chat.ToolDef { return t.def }

// Needs asks about the call with its whole input, unless the settings allow it.
func (t *tool) Needs(_ context.Context, input json.RawMessage, _ chat.Env) ([]chat.Need, error) {
	return t.s.needs(t.def.Name, t.remote, input), nil
}

func (s *server) needs(name, remote string, input json.RawMessage) []chat.Need {
	free := s.cfg.Allow
	if s.m.toolSettings != nil && s.m.toolSettings()[name].Allow {
		free = true
	}
	return []chat.Need{{
		Kind: chat.NeedOther, Subject: name, Prefix: name, Free: free,
		Detail: fmt.Sprintf("connector %s: %s\ninput: %s", s.name, remote, input),
	}}
}

// Execute calls the server.
func (t *tool) Execute(ctx context.Context, input json.RawMessage, env chat.Env) (chat.ToolResult, error) {
	var res *sdk.CallToolResult
	err := t.s.call(ctx, func(ctx context.Context, session *sdk.ClientSession) error {
		p := &sdk.CallToolParams{Name: t.remote, Arguments: input}
		token, done := t.s.progress.add(env.Progress)
		defer done()
		p.SetProgressToken(token)
		var err error
		res, err = session.CallTool(ctx, p)
		return err
	})
	if err != nil {
		return chat.ToolResult{}, err
	}
	return t.s.result(res, env), nil
}

// call does something with the session, within the connector's time limit. It
// returns as soon as the server is lost or ctx ends, whatever the server does.
func (s *server) call(ctx context.Context, do func(context.Context, *sdk.ClientSession) error) error {
	session, err := s.current(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	changed := s.changed
	s.mu.Unlock()
	limit := s.timeout()
	cctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		var err error
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("the connector %s sent something that cannot be read: %v", s.name, p)
			}
			done <- err
		}()
		err = do(cctx, session)
	}()
	select {
	case err = <-done:
	case <-cctx.Done():
		err = cctx.Err()
	case <-changed:
		// The session was lost; the call may still have had its answer.
		select {
		case err = <-done:
		case <-time.After(stopGrace):
			err = sdk.ErrConnectionClosed
		}
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case !isAnswer(err) && cctx.Err() == nil:
		// The connection broke; who watches it notices in a moment, so that the next
		// call does not meet a dead session.
		t := time.NewTimer(stopGrace)
		select {
		case <-changed:
		case <-t.C:
		}
		t.Stop()
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the connector %s did not answer within %s; its timeout_seconds can be raised in config.toml: %w", s.name, limit, context.DeadlineExceeded)
	case isLoss(err), s.lostSince(session):
		s.giveUp(session)
		return fmt.Errorf("the connector %s was lost during this call; whether it took effect is not known. It is being started again", s.name)
	}
	return fmt.Errorf("the connector %s: %s", s.name, shorten(err.Error()))
}

// isAnswer reports an error that the server itself sent.
func isAnswer(err error) bool {
	var e *jsonrpc.Error
	return errors.As(err, &e)
}

// isLoss reports an error of the connection rather than of the call.
func isLoss(err error) bool {
	return errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, io.ErrClosedPipe) || errors.Is(err, os.ErrClosed) || errors.Is(err, sdk.ErrSessionMissing) || isBrokenPipe(err)
}

// lostSince reports whether a session is not the current one any more.
func (s *server) lostSince(session *sdk.ClientSession) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session != session
}

// progressMap leads progress notifications to the calls that they belong to.
type progressMap struct {
	next  atomic.Int64
	calls sync.Map // token → func(string)
}

// add registers a call and returns its token.
func (m *progressMap) add(report func(string)) (token string, done func()) {
	token = "p" + strconv.FormatInt(m.next.Add(1), 10)
	m.calls.Store(token, report)
	return token, func() { m.calls.Delete(token) }
}

func (m *progressMap) report(p *sdk.ProgressNotificationParams) {
	if p == nil {
		return
	}
	f, ok := m.calls.Load(fmt.Sprint(p.ProgressToken))
	if !ok {
		return
	}
	text := shorten(p.Message)
	switch {
	case p.Total > 0 && text != "":
		text = fmt.Sprintf("%s (%g of %g)", text, p.Progress, p.Total)
	case p.Total > 0:
		text = fmt.Sprintf("%g of %g", p.Progress, p.Total)
	case text == "":
		text = fmt.Sprintf("%g", p.Progress)
	}
	f.(func(string))(text)
}
