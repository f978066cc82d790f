package guard

import (
	"path"
	"slices"
	"strings"
)

// dangerous are the programs with rules of their own.
var dangerous map[string]func(c *checker, prog string, args []string, sc *scope)

func init() {
	dangerous = map[string]func(c *checker, prog string, args []string, sc *scope){
		"rm": rm, "srm": rm, "rimraf": rimraf, "shred": shred, "wipe": shred, "dd": dd, "mv": mv, "cp": copies, "install": copies, "ln": copies, "rsync": rsync,
		"chmod": modes, "chown": modes, "chgrp": modes, "setfacl": modes, "chattr": modes,
		"mkfs": mkfs, "mke2fs": mkfs, "mkswap": mkfs, "mkdosfs": mkfs, "mkntfs": mkfs, "newfs": mkfs, "wipefs": wipefs, "blkdiscard": disk, "badblocks": badblocks, "cryptsetup": cryptsetup,
		"fdisk": partition, "sfdisk": partition, "gdisk": partition, "sgdisk": partition, "cfdisk": partition, "parted": partition, "hdparm": hdparm, "nvme": nvme, "mdadm": mdadm,
		"pvremove": disk, "pvcreate": disk, "vgremove": volume, "lvremove": volume, "zpool": pool, "zfs": pool, "diskutil": diskutil,
		"shutdown": shutdown, "reboot": power, "poweroff": power, "halt": power, "init": initLevel, "telinit": initLevel, "systemctl": systemctl, "loginctl": systemctl, "pm-suspend": power, "pm-hibernate": power, "kexec": kexec,
		"dbus-send": bus, "busctl": bus, "gdbus": bus, "qdbus": bus, "gnome-session-quit": bus, "kill": kill, "killall5": power, "truncate": truncate,
	}
}

// judge reports what a danger is.
func (c *checker) judge(d danger, does, what string) {
	switch d {
	case deadly:
		c.forbid("it " + does + " " + readable(what))
	case doubtful:
		c.doubt("what it " + does + " is computed at run time")
	}
}

func rm(c *checker, _ string, args []string, sc *scope) {
	if !hasOption(args, "rR", "--recursive") {
		return
	}
	if hasOption(args, "", "--no-preserve-root") {
		c.forbid("it deletes with the protection of / switched off")
	}
	for _, t := range operands(args, nil) {
		c.judge(c.target(t, sc.cwd), "deletes", t)
	}
}

func rimraf(c *checker, _ string, args []string, sc *scope) {
	for _, t := range operands(args, nil) {
		c.judge(c.target(t, sc.cwd), "deletes", t)
	}
}

// mv of a system or home folder takes it away as surely as deleting it.
func mv(c *checker, _ string, args []string, sc *scope) {
	ops := operands(args, []string{"-t", "-S", "--target-directory", "--suffix"})
	for i, t := range ops {
		if i == len(ops)-1 && !hasOption(args, "t", "--target-directory") {
			c.writes([]string{t}, sc, "writes to")
			break
		}
		last := path.Base(t)
		intoNothing := len(ops) > 1 && ops[len(ops)-1] == "/dev/null"
		if c.target(t, sc.cwd) == deadly && (intoNothing || !slices.Contains(everything, last) || strings.HasPrefix(path.Clean(t), "/*")) {
			c.forbid("it moves " + readable(t) + " away")
		}
	}
}

func copies(c *checker, _ string, args []string, sc *scope) {
	if ops := operands(args, []string{"-t", "-S", "-m", "-o", "-g"}); len(ops) > 1 {
		c.writes(ops[len(ops)-1:], sc, "writes to")
	}
}

func rsync(c *checker, _ string, args []string, sc *scope) {
	ops := operands(args, []string{"-e", "--exclude", "--include", "--rsh"})
	if len(ops) < 2 || !slices.ContainsFunc(args, func(a string) bool {
		return strings.HasPrefix(a, "--del") || a == "--remove-source-files"
	}) {
		return
	}
	if to := ops[len(ops)-1]; !strings.Contains(to, ":") && c.target(to, sc.cwd) == deadly {
		c.forbid("it deletes what is in " + readable(to) + " and not in the source")
	}
}

// modes judges recursive changes of mode or owner of system folders. Those of a
// home folder are a person's own, except a mode that locks them out or everybody
// in.
func modes(c *checker, prog string, args []string, sc *scope) {
	if !hasOption(args, "R", "--recursive") {
		return
	}
	ops := operands(args, []string{"-m", "-x", "--reference"})
	if len(ops) > 0 && prog != "setfacl" && !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--reference") }) {
		mode := ops[0]
		ops = ops[1:]
		for _, t := range ops {
			if prog != "chmod" && c.onlyHome(t, sc.cwd) {
				continue
			}
			if prog == "chmod" && c.onlyHome(t, sc.cwd) && strings.HasPrefix(mode, "u+") {
				continue
			}
			c.judge(c.target(t, sc.cwd), "changes modes or owners of all in", t)
		}
		return
	}
	for _, t := range ops {
		c.judge(c.target(t, sc.cwd), "changes modes or owners of all in", t)
	}
}

// onlyHome reports whether a target is the user's own home or all in it.
func (c *checker) onlyHome(t, cwd string) bool {
	if !path.IsAbs(t) && cwd != "" {
		t = cwd + "/" + t
	}
	t = path.Clean(t)
	if slices.Contains(everything, path.Base(t)) {
		t = path.Dir(t)
	}
	return c.home != "" && t == c.home && !slices.Contains(systemFolders, t)
}

// fetchers write what they get from the network; decoders pass it on in another
// form; filters choose some of the lines they read.
var (
	fetchers = set2("curl", "wget", "wget2", "aria2c", "http", "https", "xh", "fetch", "lynx", "links", "w3m", "nc", "ncat", "socat", "ftp", "tftp", "scp")
	decoders = set2("gunzip", "gzip", "zcat", "xz", "unxz", "xzcat", "bunzip2", "bzip2", "bzcat", "zstd", "zstdcat", "base64", "base32", "xxd", "openssl", "gpg", "tr", "sed", "awk", "head", "tail", "grep", "cut", "iconv", "dos2unix", "envsubst", "pv", "rev", "sort", "uniq", "tac", "lz4", "tar", "jq", "perl", "python3")
	filters  = set2("grep", "egrep", "fgrep", "rg", "head", "tail", "sort", "uniq", "shuf", "awk", "sed", "cut", "tr")
)

func set2(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}
