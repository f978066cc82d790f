package footprint

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// dropProgram drops the pages of the program's file that are mapped and can
// never have been changed: code and constants. The program has some 30 MB of
// them, of which an idle process uses a tenth; starting touches most.
func dropProgram() {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if from, to, ok := constant(lines.Text(), self); ok {
			// A refusal leaves the pages where they are, which is no fault.
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED)
		}
	}
}

// constant is the range of a line of /proc/PID/maps that maps a part of the file
// self which cannot be written to.
func constant(line, self string) (from, to uintptr, ok bool) {
	f := strings.Fields(line)
	if len(f) < 6 || strings.Join(f[5:], " ") != self || len(f[1]) < 2 || f[1][0] != 'r' || f[1][1] != '-' {
		return 0, 0, false
	}
	if _, err := fmt.Sscanf(f[0], "%x-%x", &from, &to); err != nil || to <= from {
		return 0, 0, false
	}
	return from, to, true
}
