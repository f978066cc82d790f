package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"perch/chat"
	"perch/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// serve starts a server over v and returns a client.
func serve(t *testing.T, v Services) (*Client, config.Paths) {
	t.Helper()
	paths := config.PathsIn(t.TempDir())
	s, err := NewServer(Options{Paths: paths, Version: Version{Version: "1.2", Commit: "c"}, Services: v})
	must(t, err)
	done := make(chan error, 1)
	go func() { done <- s.Serve() }()
	c, err := Dial(paths)
	must(t, err)
	t.Cleanup(func() {
		c.Close()
		must(t, s.Close())
		must(t, <-done)
	})
	return c, paths
}

func TestEveryCallArrivesAndAnswersWhole(t *testing.T) {
	f := newFake()
	c, _ := serve(t, f.services())
	ctx := context.Background()
	title, dir, draft, on := "t", "/d", "", true
	patch := SessionPatch{Title: &title, Dir: &dir, Draft: &draft, Pinned: &on, Seen: true}
	ask := Ask{Text: "what?\x00\u2028", Images: []chat.Image{{MIME: "image/png", Data: []byte{1, 0}}}, Env: map[string]string{"PATH": "/bin"}, Allow: []chat.NeedKind{chat.NeedRead}, Interactive: true, Keys: map[string]string{"K": "v"}, Holds: []string{"K"}, Attached: []string{"screenshot"}}
	env := DesktopEnv{Display: ":1", Extra: map[string]string{"LANG": "de"}}
	cmd := FrontCommand{ID: 2, What: "show", Session: "s1", Pressed: time.Unix(4, 5).UTC()}

	type two struct{ a, b any }
	for name, call := range map[string]struct {
		do   func() (any, error)
		sent []any
		want any
	}{
		"list":     {func() (any, error) { return c.ListSessions(ctx, SessionQuery{"w", 3}) }, []any{SessionQuery{"w", 3}}, []SessionInfo{fakeInfo}},
		"create":   {func() (any, error) { return c.CreateSession(ctx, NewSession{Dir: "/d", Temporary: true}) }, []any{NewSession{Dir: "/d", Temporary: true}}, fakeInfo},
		"view":     {func() (any, error) { return c.ViewSession(ctx, "last") }, []any{"last"}, fakeView},
		"patch":    {func() (any, error) { return c.PatchSession(ctx, "s1", patch) }, []any{"s1", patch}, fakeInfo},
		"delete":   {func() (any, error) { return nil, c.DeleteSession(ctx, "s1") }, []any{"s1"}, nil},
		"restore":  {func() (any, error) { return nil, c.RestoreSession(ctx, "s1") }, []any{"s1"}, nil},
		"clear":    {func() (any, error) { return nil, c.ClearSession(ctx, "s1") }, []any{"s1"}, nil},
		"fork":     {func() (any, error) { return c.ForkSession(ctx, "s1", "m") }, []any{"s1", "m"}, fakeInfo},
		"truncate": {func() (any, error) { return nil, c.TruncateSession(ctx, "s1", "m") }, []any{"s1", "m"}, nil},
		"pin":      {func() (any, error) { return nil, c.PinMessage(ctx, "s1", "m", true) }, []any{"s1", "m", true}, nil},
		"export": {func() (any, error) {
			var out []string
			err := c.ExportSession(ctx, "s1", func(l []byte) error { out = append(out, string(l)); return nil })
			return out, err
		}, []any{"s1"}, []string{`{"perch":"session"}`, `{"message":"äöü\n"}`}},
		"import": {func() (any, error) {
			lines := []string{"one", strings.Repeat("x", 300_000)}
			return c.ImportSession(ctx, func() ([]byte, error) {
				if len(lines) == 0 {
					return nil, io.EOF
				}
				l := lines[0]
				lines = lines[1:]
				return []byte(l), nil
			})
		}, []any{"one", strings.Repeat("x", 300_000)}, fakeInfo},
		"image":   {func() (any, error) { b, m, err := c.Image(ctx, "h"); return two{b, m}, err }, []any{"h"}, two{[]byte{0, 255, 10}, "image/png"}},
		"ask":     {func() (any, error) { return c.Ask(ctx, "s1", ask) }, []any{"s1", ask}, AskReply{Session: "s1", Run: "r1", NeedKey: "K"}},
		"stop":    {func() (any, error) { return nil, c.Stop(ctx, "r") }, []any{"r"}, nil},
		"answer":  {func() (any, error) { return nil, c.Answer(ctx, "r", Answer{"c", No, "why"}) }, []any{"r", Answer{"c", No, "why"}}, nil},
		"compact": {func() (any, error) { return nil, c.Compact(ctx, "s") }, []any{"s"}, nil},
		"undo":    {func() (any, error) { return nil, c.UndoCompaction(ctx, "s") }, []any{"s"}, nil},
		"revert":  {func() (any, error) { return c.Revert(ctx, "r") }, []any{"r"}, []string{"/a"}},
		"unqueue": {func() (any, error) { return c.Unqueue(ctx, "s") }, []any{"s"}, "draft"},
		"models":  {func() (any, error) { return c.ListModels(ctx) }, nil, []Model{fakeModel}},
		"check": {func() (any, error) {
			m, err := c.CheckModel(ctx, "a/b")
			if err != nil {
				return nil, err
			}
			return two{m.Model, *m.Error}, nil
		}, []any{"a/b"}, two{"a/b", *fakeCheck.Error}},
		"discover": {func() (any, error) { return c.Discover(ctx) }, nil, []Found{{Kind: "key", Detail: "K"}}},
		"tokens":   {func() (any, error) { return c.EstimateTokens(ctx, "m", "text") }, []any{"m", "text"}, 42},
		"settings": {func() (any, error) { return c.Settings(ctx) }, nil, json.RawMessage(`{"model":"x"}`)},
		"set":      {func() (any, error) { return nil, c.Set(ctx, "kb.results", nil) }, []any{"kb.results", nil}, nil},
		"kb":       {func() (any, error) { return c.KBStatus(ctx) }, nil, fakeKB},
		"kb add": {func() (any, error) {
			var seen []KBStatus
			st, err := c.KBAdd(ctx, []string{"/n"}, func(s KBStatus) { seen = append(seen, s) })
			return two{st, seen}, err
		}, []any{[]string{"/n"}}, two{fakeKB, []KBStatus{{Done: 1, Total: 2}}}},
		"kb remove":      {func() (any, error) { return nil, c.KBRemove(ctx, "/n") }, []any{"/n"}, nil},
		"kb search":      {func() (any, error) { return c.KBSearch(ctx, "q", 8) }, []any{"q", 8}, fakeHits},
		"memory":         {func() (any, error) { return c.Memory(ctx) }, nil, fakeMem},
		"memory add":     {func() (any, error) { return nil, c.MemoryAdd(ctx, "notes", "x") }, []any{"notes", "x"}, nil},
		"memory remove":  {func() (any, error) { return nil, c.MemoryRemove(ctx, "x") }, []any{"x"}, nil},
		"memory replace": {func() (any, error) { return nil, c.MemoryReplace(ctx, "notes", []string{"a"}) }, []any{"notes", []string{"a"}}, nil},
		"auth":           {func() (any, error) { return c.AuthStatus(ctx) }, nil, fakeAuth},
		"key":            {func() (any, error) { return c.SetKey(ctx, "a", "k") }, []any{"a", "k"}, "keyring"},
		"login": {func() (any, error) {
			var steps []LoginStep
			err := c.Login(ctx, "a", true, func(s LoginStep) error { steps = append(steps, s); return nil })
			return steps, err
		}, []any{"a", true}, []LoginStep{{URL: "http://x", Code: "C"}}},
		"logout":     {func() (any, error) { return nil, c.Logout(ctx, "a") }, []any{"a"}, nil},
		"rules":      {func() (any, error) { return c.ListRules(ctx) }, nil, fakeRules},
		"revoke":     {func() (any, error) { return nil, c.RevokeRule(ctx, "1") }, []any{"1"}, nil},
		"clipboard":  {func() (any, error) { return c.ReadClipboard(ctx) }, nil, fakeClip},
		"selection":  {func() (any, error) { return c.ReadSelection(ctx) }, nil, fakeClip},
		"copy":       {func() (any, error) { return nil, c.WriteClipboard(ctx, fakeClip) }, []any{fakeClip}, nil},
		"screenshot": {func() (any, error) { return c.Screenshot(ctx, Shot{What: "region", Rect: [4]int{1, 2, 3, 4}}) }, []any{Shot{What: "region", Rect: [4]int{1, 2, 3, 4}}}, []byte("png")},
		"pause":      {func() (any, error) { return c.PauseHotkey(ctx, true) }, []any{true}, fakeState.Hotkey},
		"notify":     {func() (any, error) { return nil, c.Notify(ctx, "t", "x", "s") }, []any{"t", "x", "s"}, nil},
		"command":    {func() (any, error) { return c.Command(ctx, env, cmd) }, []any{env, cmd}, fakeAck},
		"toggle":     {func() (any, error) { return c.Command(ctx, env, FrontCommand{What: "toggle"}) }, []any{env, FrontCommand{What: "toggle"}}, fakeAck},
		"attach": {func() (any, error) {
			var got []FrontCommand
			err := c.Attach(ctx, ":1", 9, func(f FrontCommand) error { got = append(got, f); return nil })
			return got, err
		}, []any{":1", 9}, []FrontCommand{{ID: 3, What: "show", Session: "s1"}}},
		"ack":   {func() (any, error) { return nil, c.Ack(ctx, ":1", fakeAck) }, []any{":1", fakeAck}, nil},
		"tray":  {func() (any, error) { return nil, c.BecomeTray(ctx, env) }, []any{env}, nil},
		"state": {func() (any, error) { return c.State(ctx) }, nil, fakeState},
		"watch state": {func() (any, error) {
			var got []State
			err := c.WatchState(ctx, func(s State) error { got = append(got, s); return nil })
			return got, err
		}, nil, []State{fakeState}},
		"doctor": {func() (any, error) { return c.Doctor(ctx) }, nil, []Check{{Name: "store", OK: true, Detail: "d"}}},
		"stats":  {func() (any, error) { return c.Stats(ctx) }, nil, fakeStats},
		"quit":   {func() (any, error) { return nil, c.Quit(ctx) }, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f.fail = nil
			got, err := call.do()
			must(t, err)
			if !reflect.DeepEqual(got, call.want) {
				t.Errorf("answer %+v\nwant   %+v", got, call.want)
			}
			if sent := f.last(); len(sent)+len(call.sent) > 0 && !reflect.DeepEqual(sent, call.sent) {
				t.Errorf("arrived %+v\nwant    %+v", sent, call.sent)
			}
			// A failure comes back classed, with its id and arguments.
			f.fail = chat.NewError(chat.ClassQuota, "err.some", "Nö: %s 日本 🙂", "a\nb")
			_, err = call.do()
			var e *chat.Error
			if !errors.As(err, &e) || e.Class != chat.ClassQuota || e.ID != "err.some" || e.Message != f.fail.Error() || !reflect.DeepEqual(e.Args, []string{"a\nb"}) {
				t.Errorf("failure came back as %v", err)
			}
		})
	}
}

func TestWatchFollowsUntilItsContextEnds(t *testing.T) {
	f := newFake()
	c, _ := serve(t, f.services())
	ctx, cancel := context.WithCancel(context.Background())
	var got []Frame
	err := c.Watch(ctx, "s1", func(fr Frame) error {
		got = append(got, fr)
		if fr.Event != nil {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || len(got) != 2 || got[0].Snapshot.Live.Text != "so far" {
		t.Fatalf("%v %+v", err, got)
	}
	e, err := chat.UnmarshalEvent(got[1].Event)
	if err != nil || e.(*chat.Notice).Text != "x" {
		t.Fatalf("%v %v", e, err)
	}
	<-f.ended // the server has noticed
}

func TestFailureInTheMiddleOfAStreamComesAfterWhatWasSent(t *testing.T) {
	f := newFake()
	c, _ := serve(t, f.services())
	n := 0
	err := c.Watch(context.Background(), "short", func(Frame) error { n++; return nil })
	if n != 1 || err == nil || err.Error() != "Späť 🙂 a" || chat.ClassOf(err) != chat.ClassStore {
		t.Fatalf("%d frames, %v", n, err)
	}
	if err = c.Watch(context.Background(), "panic", func(Frame) error { return nil }); chat.ClassOf(err) != chat.ClassInternal {
		t.Fatalf("a panic came back as %v", err)
	}
	if _, err := c.State(context.Background()); err != nil {
		t.Fatalf("after a panic: %v", err)
	}
}

func TestAWatcherThatReadsNothingIsGivenUpAndHoldsNobodyUp(t *testing.T) {
	f := newFake()
	c, paths := serve(t, f.services())
	token, err := os.ReadFile(paths.Token())
	must(t, err)
	conn, err := net.Dial("unix", paths.Socket())
	must(t, err)
	defer conn.Close()
	body := `{"id":"big"}`
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", routeRunsWatch, token, len(body), body)
	<-f.watching
	for range 20 { // others are served meanwhile
		if _, err := c.State(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-f.blocked:
	case <-time.After(3 * writeTimeout):
		t.Fatal("the watcher still blocks its sender")
	}
}

func TestNothingButTheOpenRoutesAnswersWithoutTheToken(t *testing.T) {
	f := newFake()
	_, paths := serve(t, f.services())
	h := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", paths.Socket())
	}}}
	defer h.CloseIdleConnections()
	post := func(route, token, body string) int {
		req, _ := http.NewRequest("POST", "http://perch"+route, strings.NewReader(body))
		if token != "" {
			req.Header.Set("Authorization", token)
		}
		resp, err := h.Do(req)
		must(t, err)
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != 200 && !strings.Contains(string(b), `"error"`) {
			t.Errorf("%s answered %q", route, b)
		}
		return resp.StatusCode
	}
	for _, route := range allRoutes() {
		want := http.StatusUnauthorized
		if open[route] {
			want = http.StatusOK
		}
		for _, token := range []string{"", "Bearer ", "Bearer wrong", "Basic x"} {
			if got := post(route, token, "{}"); got != want {
				t.Errorf("%s with %q: %d, want %d", route, token, got, want)
			}
		}
	}
	post(routeShow, "", `{"command":{"what":"quit","session":"s1","prompt":"p"}}`)
	if c := f.last()[1].(FrontCommand); c.What != "show" || c.Session != "" || c.Prompt != "" {
		t.Errorf("without the token a popup was told %+v", c)
	}
	token, _ := os.ReadFile(paths.Token())
	for body, want := range map[string]int{"": 200, "{": 400, `{"id":5}`: 400, `[]`: 400} {
		if got := post(routeSessionsView, "Bearer "+string(token), body); got != want {
			t.Errorf("body %q: %d", body, got)
		}
	}
	if got := post("/v1/none", "Bearer "+string(token), ""); got != 404 {
		t.Errorf("unknown route: %d", got)
	}
}

// allRoutes are those that a whole server serves: the ones missing from an empty
// server, and the ones that are always there.
func allRoutes() []string {
	routes := []string{routeVersion, routeToggle, routeShow, routeFrontCommand, routeFrontAttach, routeFrontAck}
	for r := range missing(Services{}) {
		routes = append(routes, r)
	}
	return routes
}

func TestAServiceThatIsNotThereSaysSo(t *testing.T) {
	c, _ := serve(t, Services{})
	ctx := context.Background()
	for name, err := range map[string]error{
		"sessions": second(c.ListSessions(ctx, SessionQuery{})), "runs": c.Stop(ctx, "r"), "desktop": second(c.ReadClipboard(ctx)),
		"popup": second(c.Command(ctx, DesktopEnv{}, FrontCommand{What: "toggle"})), "owner": c.Quit(ctx),
	} {
		var e *chat.Error
		if !errors.As(err, &e) || e.ID != "err.not_here" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestSocketTokenAndFolderAreForTheOwnerOnly(t *testing.T) {
	_, paths := serve(t, Services{})
	for path, want := range map[string]os.FileMode{paths.Socket(): 0o600, paths.Token(): 0o600, filepath.Dir(paths.Socket()): 0o700} {
		st, err := os.Stat(path)
		must(t, err)
		if st.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o", path, st.Mode().Perm(), want)
		}
	}
}

func TestVersionIsOfTheRunningPerch(t *testing.T) {
	c, _ := serve(t, Services{})
	if v := c.Version(); v.Version != "1.2" || v.Commit != "c" || v.Protocol != Protocol || v.PID != os.Getpid() {
		t.Fatalf("%+v", v)
	}
}

func TestNobodyThereIsToldFromSomebodySilentAndFromAnotherVersion(t *testing.T) {
	paths := config.PathsIn(t.TempDir())
	if _, err := Dial(paths); !errors.Is(err, ErrNotRunning) {
		t.Fatalf("no socket: %v", err)
	}
	must(t, os.MkdirAll(paths.Runtime, 0o700))
	l, err := net.Listen("unix", paths.Socket())
	must(t, err)
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	start := time.Now()
	if _, err = Dial(paths); !errors.Is(err, ErrNoAnswer) || !strings.Contains(err.Error(), "kill") {
		t.Fatalf("a silent socket: %v", err)
	}
	if d := time.Since(start); d > 2*handshakeTimeout {
		t.Fatalf("it took %v", d)
	}
	must(t, l.Close())
	if _, err := Dial(paths); !errors.Is(err, ErrNotRunning) {
		t.Fatalf("a leftover socket: %v", err)
	}

	// The leftover gives way to a server, here one of a later protocol.
	l, err = listen(paths.Socket())
	must(t, err)
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(Version{Version: "9", Protocol: Protocol + 1})
	})}
	go srv.Serve(l)
	defer srv.Close()
	if _, err := Dial(paths); !errors.Is(err, ErrProtocol) || !strings.Contains(err.Error(), "perch quit") {
		t.Fatalf("another protocol: %v", err)
	}
	c, err := DialAny(paths)
	must(t, err)
	c.Close()
	if _, err := NewServer(Options{Paths: paths}); err == nil || !strings.Contains(err.Error(), "another process answers") {
		t.Fatalf("a socket that is served was taken: %v", err)
	}
}

func TestANewTokenIsReadAgainAfterARestart(t *testing.T) {
	f := newFake()
	paths := config.PathsIn(t.TempDir())
	start := func() (*Server, chan error) {
		s, err := NewServer(Options{Paths: paths, Services: f.services()})
		must(t, err)
		done := make(chan error, 1)
		go func() { done <- s.Serve() }()
		return s, done
	}
	s, done := start()
	c, err := Dial(paths)
	must(t, err)
	defer c.Close()
	must(t, c.Stop(context.Background(), "r"))
	must(t, s.Close())
	must(t, <-done)
	if err := c.Stop(context.Background(), "r"); !errors.Is(err, ErrNotRunning) {
		t.Fatalf("after the end: %v", err)
	}
	s, done = start()
	must(t, c.Stop(context.Background(), "r"))
	must(t, s.Close())
	must(t, <-done)
}

func TestClosingEndsStreamsAtOnceAndSaysSo(t *testing.T) {
	f := newFake()
	paths := config.PathsIn(t.TempDir())
	s, err := NewServer(Options{Paths: paths, Services: f.services()})
	must(t, err)
	done := make(chan error, 1)
	go func() { done <- s.Serve() }()
	c, err := Dial(paths)
	must(t, err)
	defer c.Close()
	ended := make(chan error, 1)
	go func() { ended <- c.Watch(context.Background(), "s1", func(Frame) error { return nil }) }()
	<-f.watching
	start := time.Now()
	must(t, s.Close())
	must(t, <-done)
	if d := time.Since(start); d > drainTime {
		t.Fatalf("closing took %v", d)
	}
	var e *chat.Error
	if err := <-ended; !errors.As(err, &e) || e.ID != "err.ending" {
		t.Fatalf("the watcher was told %v", err)
	}
	if _, err := os.Stat(paths.Socket()); err == nil {
		t.Fatal("the socket is still there")
	}
}

func TestOneOfManyBecomesTheOwner(t *testing.T) {
	paths := config.PathsIn(t.TempDir())
	var mu sync.Mutex
	var held []*OwnerLock
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			l, err := AcquireOwner(paths)
			if err != nil && !errors.Is(err, ErrOwned) {
				t.Error(err)
			}
			if l != nil {
				mu.Lock()
				held = append(held, l)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(held) != 1 || OwnerPID(paths) != os.Getpid() {
		t.Fatalf("%d owners, process %d", len(held), OwnerPID(paths))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := WaitOwner(ctx, paths); !errors.Is(err, ErrOwned) {
		t.Fatal(err)
	}
	go func() { must(t, held[0].Release()) }()
	l, err := WaitOwner(context.Background(), paths)
	must(t, err)
	must(t, l.Release())
}

func TestAnOwnerIsStartedAndWaitedFor(t *testing.T) {
	paths := config.PathsIn(t.TempDir())
	var s *Server
	done := make(chan error, 1)
	starts := 0
	start := func() error {
		if starts++; starts == 1 {
			return nil // as one that finds the lock held by an owner that is ending
		}
		go func() { // as a new process does, some time later
			var err error
			if s, err = NewServer(Options{Paths: paths}); err != nil {
				done <- err
				return
			}
			done <- s.Serve()
		}()
		return nil
	}
	for range 2 {
		c, err := EnsureOwner(context.Background(), paths, start)
		must(t, err)
		c.Close()
	}
	if starts != 2 {
		t.Fatalf("%d starts", starts)
	}
	must(t, s.Close())
	must(t, <-done)

	broken := errors.New("no such program")
	if _, err := EnsureOwner(context.Background(), paths, func() error { return broken }); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	if _, err := EnsureOwner(ctx, paths, func() error { return nil }); !errors.Is(err, ErrNoAnswer) || !strings.Contains(err.Error(), paths.Log()) {
		t.Fatal(err)
	}
}

func TestAFolderOfAnotherUserIsRefused(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to give a folder away")
	}
	dir := filepath.Join(t.TempDir(), "run")
	must(t, os.Mkdir(dir, 0o700))
	must(t, os.Chown(dir, 65534, 65534))
	if _, err := listen(filepath.Join(dir, "control.sock")); err == nil || !strings.Contains(err.Error(), "another user") {
		t.Fatal(err)
	}
}

func TestEveryRouteIsDocumented(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "docs", "control.md"))
	must(t, err)
	for _, route := range allRoutes() {
		last := route[strings.LastIndex(route, "/")+1:]
		if !strings.Contains(string(doc), route) && !strings.Contains(string(doc), "`"+last+"`") && !strings.Contains(string(doc), " `"+last) {
			t.Errorf("docs/control.md does not name %s", route)
		}
	}
}
