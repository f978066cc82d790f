package guard

import (
	"path"
	"slices"
	"strings"
)

func shred(c *checker, prog string, args []string, sc *scope) {
	c.writes(operands(args, []string{"-n", "-s", "--iterations", "--size"}), sc, "overwrites")
	if prog == "wipe" && hasOption(args, "r") {
		rimraf(c, prog, args, sc)
	}
}

func dd(c *checker, _ string, args []string, sc *scope) {
	for _, a := range args {
		if of, ok := strings.CutPrefix(a, "of="); ok {
			if isUnknown(of) {
				c.doubt("what dd writes to is computed at run time")
			}
			c.writes([]string{of}, sc, "writes to")
		}
	}
}

// device judges the arguments of a program that destroys what is on a disk.
func (c *checker) device(prog string, args []string, sc *scope) {
	for _, t := range args {
		p := t
		if !path.IsAbs(p) && sc.cwd != "" {
			p = path.Join(sc.cwd, p)
		}
		switch {
		case isUnknown(t):
			c.doubt("the disk that " + prog + " works on is computed at run time")
		case strings.HasPrefix(path.Clean(p), "/dev/"):
			c.forbid("it destroys what is on " + readable(t))
		case strings.HasPrefix(t, "UUID=") || strings.HasPrefix(t, "LABEL="):
			c.forbid("it destroys what is on " + readable(t))
		}
	}
}

// mkfs makes a file system. In a file that is an image, and harmless.
func mkfs(c *checker, prog string, args []string, sc *scope) {
	c.device(prog, operands(args, []string{"-t", "-L", "-n", "-m", "-b", "-i", "-N", "-O", "-E", "-U", "-F", "-s", "-S", "-T", "-I", "-g", "-d", "--label", "--type"}), sc)
}

func disk(c *checker, prog string, args []string, sc *scope) {
	c.device(prog, operands(args, []string{"-o", "-l", "-p"}), sc)
}

func wipefs(c *checker, prog string, args []string, sc *scope) {
	if hasOption(args, "ao", "--all", "--offset") && !hasOption(args, "n", "--no-act") {
		disk(c, prog, args, sc)
	}
}

func badblocks(c *checker, prog string, args []string, sc *scope) {
	if hasOption(args, "w") {
		disk(c, prog, args, sc)
	}
}

func cryptsetup(c *checker, prog string, args []string, sc *scope) {
	if ops := operands(args, nil); len(ops) > 0 && slices.Contains([]string{"luksFormat", "erase", "luksErase", "reencrypt", "luksKillSlot", "luksRemoveKey"}, ops[0]) {
		c.device(prog, ops[1:], sc)
	}
}

// partition edits a partition table, unless it only lists it.
func partition(c *checker, prog string, args []string, sc *scope) {
	if hasOption(args, "ldp", "--list", "--dump", "--print", "--version", "--help", "--backup", "--verify") && prog != "parted" {
		return
	}
	ops := operands(args, []string{"-a", "-u", "--align"})
	if prog == "parted" {
		if hasOption(args, "l", "--list") || len(ops) < 2 || ops[1] == "print" || ops[1] == "unit" && slices.Contains(ops, "print") {
			return
		}
		ops = ops[:1]
	}
	c.device(prog, ops, sc)
}

func hdparm(c *checker, prog string, args []string, sc *scope) {
	if slices.ContainsFunc(args, func(a string) bool {
		return strings.HasPrefix(a, "--security-erase") || strings.HasPrefix(a, "--trim-sector") || a == "--write-sector" || a == "--repair-sector"
	}) {
		c.device(prog, operands(args, nil), sc)
	}
}

func nvme(c *checker, prog string, args []string, sc *scope) {
	if len(args) > 0 && (args[0] == "format" || args[0] == "sanitize" || args[0] == "write-zeroes" || args[0] == "dsm") {
		c.device(prog, operands(args[1:], nil), sc)
	}
}

func mdadm(c *checker, prog string, args []string, sc *scope) {
	if slices.Contains(args, "--zero-superblock") {
		c.device(prog, operands(args, nil), sc)
	}
}

func volume(c *checker, prog string, args []string, _ *scope) {
	if len(operands(args, nil)) > 0 && !hasOption(args, "t", "--test") {
		c.forbid("it removes a disk volume with all that is on it (" + prog + ")")
	}
}

func pool(c *checker, prog string, args []string, _ *scope) {
	if len(args) > 1 && args[0] == "destroy" || len(args) > 1 && prog == "zpool" && args[0] == "labelclear" {
		c.forbid("it destroys a disk pool (" + prog + " " + args[0] + ")")
	}
}

func diskutil(c *checker, _ string, args []string, _ *scope) {
	if len(args) > 1 && (strings.HasPrefix(strings.ToLower(args[0]), "erase") || strings.ToLower(args[0]) == "partitiondisk" || strings.ToLower(args[0]) == "zerodisk") {
		c.forbid("it destroys what is on a disk (diskutil " + args[0] + ")")
	}
}

func truncate(c *checker, _ string, args []string, sc *scope) {
	c.writes(operands(args, []string{"-s", "--size", "-r", "--reference"}), sc, "truncates")
}
