package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"perch/control"
)

// The parts of the memory.
const (
	partProfile = "profile"
	partNotes   = "notes"
)

func (a *app) memoryCommand() *cobra.Command {
	var asJSON bool
	show := a.command("show", "cli.memory_show", cobra.NoArgs, func(ctx context.Context, _ []string) error {
		c, err := a.owner()
		if err != nil {
			return err
		}
		v, err := c.Memory(ctx)
		if err != nil {
			return err
		}
		if asJSON {
			v.Profile.Entries, v.Notes.Entries = list(v.Profile.Entries), list(v.Notes.Entries)
			return a.printJSON(v)
		}
		var b strings.Builder
		for _, p := range []struct {
			name string
			part control.MemoryPart
		}{{partProfile, v.Profile}, {partNotes, v.Notes}} {
			fmt.Fprintf(&b, "%s (%d/%d)\n", a.t("cli.memory."+p.name), p.part.Used, p.part.Limit)
			for _, e := range p.part.Entries {
				b.WriteString("  - " + visible(e.Text) + "\n")
				if e.Masked != "" {
					b.WriteString("    " + a.t("cli.memory_masked", e.Masked) + "\n")
				}
			}
		}
		return a.print(strings.TrimRight(b.String(), "\n"))
	})
	show.Flags().BoolVar(&asJSON, "json", false, a.t("cli.flag_json"))

	part := partNotes
	add := a.command("add TEXT", "cli.memory_add", cobra.MinimumNArgs(1), func(ctx context.Context, args []string) error {
		if part != partProfile && part != partNotes {
			return a.misuse("cli.bad_part", part)
		}
		c, err := a.owner()
		if err != nil {
			return err
		}
		return c.MemoryAdd(ctx, part, strings.Join(args, " "))
	})
	add.Flags().StringVar(&part, "part", partNotes, a.t("cli.flag_part"))

	remove := a.command("remove TEXT", "cli.memory_remove", cobra.MinimumNArgs(1), func(ctx context.Context, args []string) error {
		c, err := a.owner()
		if err != nil {
			return err
		}
		return c.MemoryRemove(ctx, strings.Join(args, " "))
	})
	return a.group("memory", "cli.memory", show, add, remove,
		a.command("edit", "cli.memory_edit", cobra.NoArgs, func(ctx context.Context, _ []string) error { return a.editMemory(ctx) }))
}

// editMemory opens the memory in the user's editor and stores what comes back.
func (a *app) editMemory(ctx context.Context) error {
	c, err := a.owner()
	if err != nil {
		return err
	}
	v, err := c.Memory(ctx)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp("", "perch-memory-*.md") // mode 0600
	if err != nil {
		return err
	}
	keep := false
	defer func() {
		if !keep {
			os.Remove(f.Name())
		}
	}()
	before := memoryFile(v, a.t("cli.memory_head"))
	_, err = f.WriteString(before)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if err := a.editor(ctx, f.Name()); err != nil {
		return err
	}
	after, err := os.ReadFile(f.Name())
	if err != nil {
		return err
	}
	parts, bad := parseMemory(string(after))
	if bad != "" {
		keep = true
		return a.failed("cli.memory_line", bad, f.Name())
	}
	for name, old := range map[string]control.MemoryPart{partProfile: v.Profile, partNotes: v.Notes} {
		if slices.Equal(entryTexts(old), parts[name]) {
			continue
		}
		if err := c.MemoryReplace(ctx, name, parts[name]); err != nil {
			keep = true
			a.note(a.t("cli.memory_kept", f.Name()))
			return err
		}
	}
	return nil
}

// editor runs the user's editor on a file.
func (a *app) editor(ctx context.Context, file string) error {
	name := a.Getenv("VISUAL")
	if name == "" {
		name = a.Getenv("EDITOR")
	}
	if name == "" {
		for _, n := range []string{"sensible-editor", "nano", "vi", "notepad"} {
			if _, err := exec.LookPath(n); err == nil {
				name = n
				break
			}
		}
	}
	words := strings.Fields(name) // "code --wait"
	if len(words) == 0 {
		return a.failed("cli.no_editor")
	}
	cmd := exec.CommandContext(ctx, words[0], append(words[1:], file)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.Stdin, a.Stdout, a.Stderr
	if err := cmd.Run(); err != nil {
		return a.failed("cli.editor_failed", name, err)
	}
	return nil
}

func entryTexts(p control.MemoryPart) []string {
	var out []string
	for _, e := range p.Entries {
		out = append(out, e.Text)
	}
	return out
}

// memoryFile is the memory as a file to edit: an entry a line under its part.
func memoryFile(v control.MemoryView, head string) string {
	var b strings.Builder
	for _, line := range strings.Split(head, "\n") {
		b.WriteString("<!-- " + line + " -->\n")
	}
	for _, p := range []struct {
		name string
		part control.MemoryPart
	}{{partProfile, v.Profile}, {partNotes, v.Notes}} {
		b.WriteString("\n# " + p.name + "\n\n")
		for _, e := range p.part.Entries {
			b.WriteString("- " + strings.ReplaceAll(e.Text, "\n", "\n  ") + "\n")
		}
	}
	return b.String()
}

// parseMemory reads what memoryFile wrote; bad is the first line that has no place.
func parseMemory(text string) (parts map[string][]string, bad string) {
	parts = map[string][]string{}
	part := ""
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, " \t\r")
		switch trimmed := strings.TrimSpace(line); {
		case trimmed == "", strings.HasPrefix(trimmed, "<!--"):
		case strings.HasPrefix(line, "# "):
			part = strings.ToLower(strings.TrimSpace(line[2:]))
			if part != partProfile && part != partNotes {
				return nil, line
			}
		case part == "":
			return nil, line
		case strings.HasPrefix(line, "- "):
			parts[part] = append(parts[part], strings.TrimSpace(line[2:]))
		case strings.HasPrefix(line, "  ") && len(parts[part]) > 0:
			last := &parts[part][len(parts[part])-1]
			*last += "\n" + strings.TrimPrefix(line, "  ")
		default:
			return nil, line
		}
	}
	return parts, ""
}

// errNoInput is a secret that nobody typed.
var errNoInput = errors.New("nothing was entered")
