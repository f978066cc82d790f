package exec

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// calls are the system calls that the filter looks at, on one architecture.
type calls struct {
	arch uint32
	// socket makes a socket; socketcall does on old 32-bit systems.
	socket     []uint32
	socketcall []uint32
	// keys reach the kernel's key rings, where passwords of the session lie.
	keys []uint32
	// ioUring makes a ring through which sockets can be opened past any filter.
	ioUring []uint32
	// foreign is the first number of another calling convention of the same
	// architecture (x32), 0 for none.
	foreign uint32
}

// filtered are the architectures of a program on this machine: its own and the
// 32-bit one that the kernel also runs.
var filtered = map[string][]calls{
	"amd64": {
		{arch: unix.AUDIT_ARCH_X86_64, socket: []uint32{41}, keys: []uint32{248, 249, 250}, ioUring: []uint32{425}, foreign: 0x40000000},
		{arch: unix.AUDIT_ARCH_I386, socket: []uint32{359}, socketcall: []uint32{102}, keys: []uint32{286, 287, 288}, ioUring: []uint32{425}},
	},
	"arm64": {
		{arch: unix.AUDIT_ARCH_AARCH64, socket: []uint32{198}, keys: []uint32{217, 218, 219}, ioUring: []uint32{425}},
		{arch: unix.AUDIT_ARCH_ARM, socket: []uint32{281}, keys: []uint32{309, 310, 311}, ioUring: []uint32{425}},
	},
}

// Offsets into struct seccomp_data.
const (
	offNumber = 0
	offArch   = 4
	offArg0   = 16 // its low half on little-endian machines
)

// filterCalls closes what Landlock leaves open, whatever the kernel's version:
// internet sockets of every kind (Landlock knows plain TCP only; multipath TCP
// and UDP pass it) unless the network was granted, and the kernel's key rings.
// It reports whether the filter knows this architecture. The calling thread is
// filtered, and with it the program that it becomes.
func filterCalls(network bool) (bool, error) {
	archs, ok := filtered[runtime.GOARCH]
	if !ok {
		return false, nil
	}
	prog := filterProgram(archs, network)
	f := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&f)), 0, 0); err != nil {
		if err == unix.EINVAL || err == unix.ENOSYS {
			return false, nil // a kernel built without it
		}
		return false, fmt.Errorf("prctl(PR_SET_SECCOMP): %w", err)
	}
	runtime.KeepAlive(prog)
	return true, nil
}

// filterProgram is the filter: for each architecture a block that returns for
// the calls it knows, and allows the rest. A program of an unknown architecture
// gets "no such call".
func filterProgram(archs []calls, network bool) []unix.SockFilter {
	ld := func(off uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: off}
	}
	ret := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	fails := func(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }
	jump := func(op uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | op | unix.BPF_K, K: k, Jt: yes, Jf: no}
	}
	var prog []unix.SockFilter
	for _, a := range archs {
		body := []unix.SockFilter{ld(offNumber)}
		if a.foreign != 0 {
			body = append(body, jump(unix.BPF_JGE, a.foreign, 0, 1), ret(fails(unix.ENOSYS)))
		}
		refuse := func(numbers []uint32, e unix.Errno) {
			for _, n := range numbers {
				body = append(body, jump(unix.BPF_JEQ, n, 0, 1), ret(fails(e)))
			}
		}
		refuse(a.keys, unix.ENOSYS)
		if !network {
			refuse(a.ioUring, unix.ENOSYS)
			refuse(a.socketcall, unix.EACCES)
			for _, n := range a.socket {
				body = append(body,
					jump(unix.BPF_JEQ, n, 0, 5),
					ld(offArg0),
					jump(unix.BPF_JEQ, unix.AF_UNIX, 2, 0),
					jump(unix.BPF_JEQ, unix.AF_NETLINK, 1, 0),
					ret(fails(unix.EACCES)),
					ret(unix.SECCOMP_RET_ALLOW),
				)
			}
		}
		body = append(body, ret(unix.SECCOMP_RET_ALLOW))
		prog = append(prog, ld(offArch), jump(unix.BPF_JEQ, a.arch, 0, uint8(len(body))))
		prog = append(prog, body...)
	}
	return append(prog, ret(fails(unix.ENOSYS)))
}
