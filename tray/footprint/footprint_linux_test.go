package footprint

import (
	"os"
	"strings"
	"testing"
	"unicode"

	"perch/tray/desktest"
)

func TestOnlyConstantPartsOfTheProgramAreDropped(t *testing.T) {
	const self = "/opt/per ch/perch"
	for line, want := range map[string]bool{
		"00400000-00a00000 r-xp 00000000 08:01 123   /opt/per ch/perch":  true,
		"00a00000-01a00000 r--p 00600000 08:01 123   /opt/per ch/perch":  true,
		"01a00000-01b00000 rw-p 01600000 08:01 123   /opt/per ch/perch":  false, // may have been changed
		"7f0000000000-7f0000100000 r-xp 00000000 08:01 9   /lib/libc.so": false,
		"c000000000-c000400000 rw-p 00000000 00:00 0":                    false,
		"00400000-00a00000 ---p 00000000 08:01 123   /opt/per ch/perch":  false,
		"nonsense": false,
	} {
		if _, _, ok := constant(line, self); ok != want {
			t.Errorf("%q: %v", line, ok)
		}
	}
}

func TestTrimmedProcessIsSmallerAndWorksOn(t *testing.T) {
	// Touch code and constants all over.
	n := 0
	for r := range rune(unicode.MaxRune) {
		if unicode.IsLetter(r) {
			n++
		}
	}
	before := desktest.ResidentMB(t, os.Getpid())
	Trim()
	after := desktest.ResidentMB(t, os.Getpid())
	if after >= before {
		t.Errorf("%.1f MB before, %.1f MB after", before, after)
	}
	if strings.ToUpper("still working") != "STILL WORKING" || n == 0 {
		t.Error("the program was damaged")
	}
	t.Logf("%.1f MB before, %.1f MB after", before, after)
}
