package main

import (
	"os"
	"strings"
	"testing"

	"perch/harness/harnesstest"
)

func TestASmallModelWithAllToolsWorksOrSaysWhatItNeeds(t *testing.T) {
	vendor := harnesstest.NewVendor(func(int, harnesstest.VendorRequest) harnesstest.Step { return harnesstest.Say("It fits.") })
	defer vendor.Close()
	for window, want := range map[string]string{"8192": "It fits.", "1500": "needs at least"} {
		home, paths := newHome(t, vendor.URL)
		toml, err := os.ReadFile(paths.ConfigFile)
		if err != nil {
			t.Fatal(err)
		}
		small := strings.Replace(string(toml), "100000", window, 1)
		if err := os.WriteFile(paths.ConfigFile, []byte(small), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { perchIn(t, home, nil, "quit") })
		got := perchIn(t, home, nil, "ask", "hello")
		if !strings.Contains(got.out+got.err, want) {
			t.Errorf("window of %s: %s%s", window, got.out, got.err)
		}
	}
	if n := len(vendor.Requests()); n == 1 {
		req := vendor.Requests()[0]
		t.Logf("%d tools, %d bytes", len(req.Tools), len(req.Raw))
	}
}

// TestThePromptAndTheToolsAreSmall holds system prompt and built-in tool
// definitions under 5,000 tokens together, as any model would be sent them.
func TestThePromptAndTheToolsAreSmall(t *testing.T) {
	vendor := harnesstest.NewVendor(func(int, harnesstest.VendorRequest) harnesstest.Step { return harnesstest.Say("ok") })
	defer vendor.Close()
	home, _ := newHome(t, vendor.URL)
	t.Cleanup(func() { perchIn(t, home, nil, "quit") })
	perchIn(t, home, nil, "ask", "hello")
	req := vendor.Requests()[0]
	got := perchIn(t, home, req.Raw, "tokens", "-")
	t.Logf("%d tools, %s tokens", len(req.Tools), strings.TrimSpace(got.out))
	n := 0
	for _, r := range strings.TrimSpace(got.out) {
		n = n*10 + int(r-'0')
	}
	if n < 500 || n > 5000 {
		t.Errorf("prompt and tools take %d tokens", n)
	}
}
