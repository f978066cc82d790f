package desktop

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"perch/chat"
	"perch/control"
	"perch/tray/child"
	"perch/tray/desktest"
	"perch/tray/hotkey"
)

// waylandEnv is the rig's desktop as a Wayland one: with a compositor that lets
// nobody near clipboard or screen but by the portal.
func waylandEnv(r *desktest.Rig) control.DesktopEnv {
	env := r.DesktopEnv()
	env.WaylandDisplay, env.SessionType = "wayland-none", "wayland"
	return env
}

func TestScreenshotOnWaylandComesFromThePortal(t *testing.T) {
	r := desktest.Start(t, desktest.Options{WM: "none"})
	p := r.StartPortal()
	s, _ := start(t, waylandEnv(r))
	img := image.NewNRGBA(image.Rect(0, 0, 40, 30))
	img.SetNRGBA(12, 13, color.NRGBA{R: 255, A: 255})
	shot := func(what control.Shot) (image.Image, error) {
		file := filepath.Join(r.Dir, "Screenshot.png")
		desktest.WritePNG(t, file, img)
		p.Give(file)
		data, err := s.Screenshot(t.Context(), what)
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(file); err == nil {
			t.Error("the portal's file was left behind")
		}
		return png.Decode(bytes.NewReader(data))
	}
	got, err := shot(control.Shot{What: ShotScreen})
	if err != nil || got.Bounds().Dx() != 40 || !isColor(got.At(12, 13), color.RGBA{R: 255}) {
		t.Errorf("screen: %v, %v", got, err)
	}
	got, err = shot(control.Shot{What: ShotRegion, Rect: [4]int{10, 10, 5, 4}})
	if err != nil || got.Bounds().Dx() != 5 || got.Bounds().Dy() != 4 || !isColor(got.At(2, 3), color.RGBA{R: 255}) {
		t.Errorf("region: %v, %v", got, err)
	}
	if refused := p.Refused(); len(refused) > 0 {
		t.Errorf("the portal could not look into its caller: %v", refused)
	}
}

func TestRefusedScreenshotIsASentenceInTime(t *testing.T) {
	r := desktest.Start(t, desktest.Options{WM: "none"})
	p := r.StartPortal()
	s, _ := start(t, waylandEnv(r))
	p.Answer(desktest.Refuses)
	_, err := s.Screenshot(t.Context(), control.Shot{What: ShotScreen})
	if e := chat.AsError(err); e == nil || e.ID != "err.shot_refused" {
		t.Errorf("refused: %v", err)
	}

	// A dialog that nobody answers is taken off the screen at the deadline.
	p.Answer(desktest.Waits)
	conn := r.Connect()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = portalShot(ctx, conn, control.Shot{What: ShotScreen})
	if e := chat.AsError(err); e == nil || e.ID != "err.shot_unanswered" {
		t.Errorf("unanswered: %v", err)
	}
	r.Wait("the request to be closed", func() bool { return p.Closed() == 1 })

	p.Stop()
	r.Wait("the portal's end", func() bool { return !r.HasName("org.freedesktop.portal.Desktop") })
	_, err = s.Screenshot(t.Context(), control.Shot{What: ShotScreen})
	if e := chat.AsError(err); e == nil || e.ID != "err.shot_failed" {
		t.Errorf("no portal: %v", err)
	}
}

func TestShortcutsOfThePortalAreBoundAndHeard(t *testing.T) {
	r := desktest.Start(t, desktest.Options{WM: "none"})
	s, rec := start(t, waylandEnv(r))
	bs := []hotkey.Binding{{ID: hotkey.Toggle, Combo: "ctrl+shift+space", Label: "Show"}, {ID: "prompt:x", Combo: "super+t", Label: "x"}}
	if e := chat.AsError(s.BindShortcuts(t.Context(), bs)); e == nil || e.ID != "err.hotkey_wayland" {
		t.Errorf("without a portal: %v", e)
	}
	p := r.StartPortal()
	if err := s.BindShortcuts(t.Context(), bs); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(p.Bound(), ", "); got != "toggle CTRL+SHIFT+space, prompt:x LOGO+t" {
		t.Errorf("bound %q", got)
	}
	p.Press("toggle")
	p.Press("prompt:x")
	r.Wait("both presses", func() bool { return rec.count(Shortcut, "", "toggle") == 1 && rec.count(Shortcut, "", "prompt:x") == 1 })
	p.EndSession()
	r.Wait("the word that they are gone", func() bool { return rec.count(ShortcutsEnded, "", "") == 1 })

	if err := s.BindShortcuts(t.Context(), bs[:1]); err != nil {
		t.Fatal(err)
	}
	if err := s.BindShortcuts(t.Context(), nil); err != nil || p.Closed() == 0 {
		t.Errorf("letting go: %v, %d sessions closed", err, p.Closed())
	}
	p.Answer(desktest.Refuses)
	if e := chat.AsError(s.BindShortcuts(t.Context(), bs)); e == nil || e.ID != "err.hotkey_refused" {
		t.Errorf("refused: %v", e)
	}
}

// secretParent makes the test binary an owner that nobody may look into.
const secretParent = "DESKTOP_TEST_PARENT"

// playSecretParent hides itself as perch does, starts a role, says both process
// ids and waits for the end of its input.
func playSecretParent() {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		os.Exit(1)
	}
	up := make(chan struct{}, 8)
	p, err := child.Start(child.Spec{Path: os.Args[0], Args: []string{Argument}, Env: os.Environ(),
		Line: func([]byte) { up <- struct{}{} }})
	if err != nil {
		os.Exit(1)
	}
	<-up
	fmt.Println(os.Getpid(), p.PID())
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// TestPortalMayLookIntoTheRoleButNotIntoItsOwner holds why the role is a process
// of its own: a portal opens the root folder of its caller, and the owner of the
// keys lets nobody in. Root may look anywhere, so all of it is another user's.
func TestPortalMayLookIntoTheRoleButNotIntoItsOwner(t *testing.T) {
	desktest.Need(t, "readlink")
	dir, err := os.MkdirTemp("", "role")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	bin, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "perch")
	if err := os.WriteFile(copied, bin, 0o755); err != nil {
		t.Fatal(err)
	}
	attr := &syscall.SysProcAttr{}
	if os.Getuid() == 0 {
		const nobody = 65534
		attr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	parent := exec.Command(copied)
	parent.Env, parent.Dir, parent.SysProcAttr = []string{secretParent + "=1", "PATH=" + os.Getenv("PATH")}, "/", attr
	stdin, err := parent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { stdin.Close(); _ = parent.Wait() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var owner, role int
	if _, err := fmt.Sscan(line, &owner, &role); err != nil {
		t.Fatal(err)
	}
	look := func(pid int) error {
		cmd := exec.Command("readlink", fmt.Sprintf("/proc/%d/root", pid))
		cmd.SysProcAttr = attr
		return cmd.Run()
	}
	if look(owner) == nil {
		t.Error("the owner lets others look into it")
	}
	if err := look(role); err != nil {
		t.Errorf("the role lets no portal look into it: %v", err)
	}
}
