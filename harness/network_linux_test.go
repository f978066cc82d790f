package harness_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"perch/chat"
	"perch/config"
	"perch/harness"
	"perch/harness/harnesstest"
	"perch/providers"
	"perch/providers/openaichat"
	"perch/store"
)

// nsServer is the address on which this test binary serves, inside a network
// namespace, when it is set.
const nsServer = "PERCH_TEST_NS_SERVER"

// TestNamespaceServer is not a test: it is the server of the one below, in a
// namespace of its own.
func TestNamespaceServer(t *testing.T) {
	addr := os.Getenv(nsServer)
	if addr == "" {
		t.Skip("the other half of TestADeadConnectionIsNoticedInTime")
	}
	go func() { time.Sleep(time.Minute); os.Exit(0) }() // whatever becomes of the test
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("serving")
	t.Fatal(http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, textPart)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})))
}

// TestADeadConnectionIsNoticedInTime drops every packet in the middle of an
// answer, as a change of network does, without a word to either side.
func TestADeadConnectionIsNoticedInTime(t *testing.T) {
	if testing.Short() || os.Getuid() != 0 {
		t.Skip("needs root for a network namespace, and ten seconds; run as root without -short")
	}
	ns := fmt.Sprintf("perch%d", os.Getpid())
	link := fmt.Sprintf("pv%d", os.Getpid()%100000)
	// Namespaces go away in their own time: each run has addresses of its own.
	net24 := fmt.Sprintf("10.251.%d", os.Getpid()%250)
	here, there := net24+".1", net24+".2"
	ip := func(args ...string) error {
		out, err := exec.Command("ip", args...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("ip %v: %w: %s", args, err, out)
		}
		return nil
	}
	if err := ip("netns", "add", ns); err != nil {
		t.Skipf("no network namespaces here: %v", err)
	}
	t.Cleanup(func() { ip("netns", "del", ns) })
	for _, args := range [][]string{
		{"link", "add", link, "type", "veth", "peer", "name", "inside", "netns", ns},
		{"addr", "add", here + "/30", "dev", link}, {"link", "set", link, "up"},
		{"-n", ns, "addr", "add", there + "/30", "dev", "inside"}, {"-n", ns, "link", "set", "inside", "up"},
	} {
		if err := ip(args...); err != nil {
			t.Fatal(err)
		}
	}
	srv := exec.Command("ip", "netns", "exec", ns, os.Args[0], "-test.run=^TestNamespaceServer$")
	srv.Env = append(os.Environ(), nsServer+"="+there+":8099")
	out, err := srv.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Process.Kill(); srv.Wait() })
	for sc := bufio.NewScanner(out); sc.Scan() && sc.Text() != "serving"; {
	}

	for began := time.Now(); ; { // the links come up in their own time
		c, err := net.DialTimeout("tcp", there+":8099", time.Second)
		if err == nil {
			c.Close()
			break
		}
		if time.Since(began) > 10*time.Second {
			t.Skipf("the namespace cannot be reached: %v", err)
		}
	}
	client, err := providers.NewHTTPClient()
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	p := openaichat.New(providers.Endpoint{Name: "far", BaseURL: "http://" + there + ":8099", NoKey: true, Credentials: providers.StaticCredentials{}, Client: client})
	cfg := config.Default()
	cfg.WorkingDir, cfg.Limits.Retries = t.TempDir(), 0
	s := store.NewMemory()
	s.Create(chat.SessionMeta{ID: "s1", Created: time.Now(), Used: time.Now()})
	r := harness.New(harness.Options{
		Store: s, Config: func() config.Config { return cfg },
		Models:    harnesstest.Models{Provider: p, Info: harnesstest.Info(100_000)},
		Estimator: func(providers.ModelInfo) harness.Estimator { return harnesstest.Words{} },
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var cut time.Time
	for e, err := range r.Stream(ctx, harness.Request{Session: "s1", Text: "q"}) {
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case *chat.TextDelta:
			// From now on nothing arrives on either side.
			if err := ip("-n", ns, "addr", "flush", "dev", "inside"); err != nil {
				t.Fatal(err)
			}
			cut = time.Now()
		case *chat.Done:
			took := time.Since(cut)
			t.Logf("noticed after %v: %v", took.Round(100*time.Millisecond), e.Result.Error)
			if e.Result.Error == nil || e.Result.Error.Class != chat.ClassTransient || cut.IsZero() || took > 10*time.Second {
				t.Errorf("after %v: %+v", took, e.Result)
			}
		}
	}
}
