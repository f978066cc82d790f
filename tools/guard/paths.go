package guard

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// systemFolders are folders whose recursive deletion breaks the system. What
// lies deeper may be a person's own installation (/usr/local/go).
var systemFolders = []string{
	"/", "/bin", "/boot", "/boot/efi", "/boot/grub", "/dev", "/etc", "/etc/ssl", "/etc/ssh", "/etc/systemd", "/home", "/lib", "/lib32", "/lib64", "/libx32", "/lib/modules", "/media", "/mnt", "/nix", "/nix/store",
	"/opt", "/proc", "/root", "/run", "/sbin", "/snap", "/srv", "/sys", "/usr", "/usr/bin", "/usr/include", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/local", "/usr/local/bin", "/usr/local/lib", "/usr/sbin", "/usr/share",
	"/var", "/var/cache", "/var/lib", "/var/lib/dpkg", "/var/lib/rpm", "/var/log", "/var/run", "/var/spool", "/lost+found",
	"/System", "/Library", "/Applications", "/Users", "/Volumes", "/private", "/private/etc", "/private/var", "/cores",
}

// everything are patterns that match all entries of a folder, or all hidden ones.
var everything = []string{"*", "**", "?*", "*?", ".*", ".?*", ".[!.]*", ".[^.]*", "..?*", "[!.]*", "*.*"}

// danger is how dangerous it is to delete a target.
type danger uint8

const (
	harmless danger = iota
	doubtful
	deadly
)

// target judges a path whose whole content would go, seen from cwd.
func (c *checker) target(p, cwd string) danger {
	if p == "" {
		return harmless
	}
	if isUnknown(p) {
		return c.unknownTarget(p, cwd)
	}
	if !path.IsAbs(p) {
		if cwd == "" || isUnknown(cwd) {
			return relativeToUnknown(p)
		}
		p = cwd + "/" + p
	}
	name := strings.Contains(p, nameMark)
	p = path.Clean(p)
	if name {
		dir := path.Dir(p)
		if slices.Contains(systemFolders, dir) || strings.ContainsAny(dir, "*?[") && c.target(dir, "/") == deadly {
			return doubtful // some name below /: may be any of them
		}
		return harmless
	}
	dir, last := path.Dir(p), path.Base(p)
	if slices.Contains(everything, last) {
		if c.protected(dir) {
			return deadly
		}
		p = dir + "/*"
	}
	if c.protected(p) {
		return deadly
	}
	return harmless
}

// unknownTarget judges a path of which a part is not known. Where what is known
// alone is deadly already (an empty rest), it is doubtful like the others: the
// rest may well be there.
func (c *checker) unknownTarget(string, string) danger { return doubtful }

// relativeToUnknown judges a relative path in a folder that is not known.
func relativeToUnknown(p string) danger {
	first, _, _ := strings.Cut(path.Clean(p), "/")
	if first == ".." || first == "." || slices.Contains(everything, first) {
		return doubtful
	}
	return harmless
}

// protected reports whether a cleaned absolute path, which may hold patterns, is
// or matches the root, a system folder, a home folder, or a folder that holds
// the user's home.
func (c *checker) protected(p string) bool {
	if match(p, c.home) {
		return true
	}
	for d := c.home; len(d) > 1; d = path.Dir(d) {
		if match(p, d) {
			return true
		}
	}
	for _, s := range systemFolders {
		if match(p, s) {
			return true
		}
	}
	d := path.Dir(p)
	return (d == "/home" || d == "/Users") && !slices.Contains([]string{"/home/linuxbrew", "/Users/Shared"}, p)
}

// match reports whether a pattern matches a path, component by component.
func match(pattern, p string) bool {
	if p == "" {
		return false
	}
	if pattern == p {
		return true
	}
	if !strings.ContainsAny(pattern, "*?[") {
		return false
	}
	ok, err := path.Match(pattern, p)
	return err == nil && ok && p != "/"
}

// blockDevice matches disks and their partitions, and the machine's memory.
var blockDevice = regexp.MustCompile(`^/dev/(sd[a-z*?]|hd[a-z*?]|vd[a-z*?]|xvd|nvme|mmcblk|disk/|disk\d|rdisk|dm-|mapper/|md\d|md/|loop\d|sr\d|nbd\d|zd\d|ram\d|mem$|kmem$|port$|root$)`)

// sysrq is the file through which the kernel is told to restart at once.
const sysrq = "/proc/sysrq-trigger"

// writes judges files that are overwritten.
func (c *checker) writes(files []string, sc *scope, how string) {
	for _, f := range files {
		if _, ok := procNumber(f); ok {
			continue
		}
		p := f
		if !path.IsAbs(p) && sc.cwd != "" {
			p = sc.cwd + "/" + p
		}
		p = path.Clean(p)
		switch {
		case blockDevice.MatchString(p):
			c.forbid("it " + how + " the device " + readable(p))
		case p == sysrq:
			c.forbid("it tells the kernel to restart or crash")
		case isUnknown(p) && strings.HasPrefix(p, "/dev/"+mark):
			c.doubt("it " + how + " a device that is computed at run time")
		}
	}
}

// readable shows a path with its unknown parts as an ellipsis.
func readable(p string) string {
	return strings.NewReplacer(mark, "…", nameMark, "…").Replace(p)
}
