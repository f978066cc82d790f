package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"perch/control"
)

// progressEvery is how often a line of progress is written again.
const progressEvery = 100 * time.Millisecond

func (a *app) kbCommand() *cobra.Command {
	add := a.command("add PATH...", "cli.kb_add", cobra.MinimumNArgs(1), func(ctx context.Context, args []string) error {
		var paths []string
		for _, p := range args {
			abs, err := filepath.Abs(p)
			if err != nil {
				return a.misuse("cli.bad_file", p, reason(err))
			}
			paths = append(paths, abs)
		}
		c, err := a.owner()
		if err != nil {
			return err
		}
		live := isTerminal(a.Stderr)
		var last time.Time
		st, err := c.KBAdd(ctx, paths, func(st control.KBStatus) {
			if live && time.Since(last) >= progressEvery {
				last = time.Now()
				line := fmt.Sprintf("%d/%d  %s", st.Done, st.Total, visible(st.Working))
				fmt.Fprintf(a.Stderr, "\r\x1b[K%s", cut(line, terminalSize(a.Stderr).width-1))
			}
		})
		if live {
			fmt.Fprint(a.Stderr, "\r\x1b[K")
		}
		if err != nil {
			return err
		}
		for _, p := range st.Problems {
			a.note(a.t("cli.kb_skipped", visible(p.Path), p.Reason))
		}
		return a.print(a.t("cli.kb_sum", st.Documents, st.Chunks, st.Vectors))
	})
	remove := a.command("remove PATH", "cli.kb_remove", cobra.ExactArgs(1), func(ctx context.Context, args []string) error {
		abs, err := filepath.Abs(args[0])
		if err != nil {
			return a.misuse("cli.bad_file", args[0], reason(err))
		}
		c, err := a.owner()
		if err != nil {
			return err
		}
		return c.KBRemove(ctx, abs)
	})
	var asJSON bool
	status := a.command("status", "cli.kb_status", cobra.NoArgs, func(ctx context.Context, _ []string) error {
		c, err := a.owner()
		if err != nil {
			return err
		}
		st, err := c.KBStatus(ctx)
		if err != nil {
			return err
		}
		if asJSON {
			st.Folders = list(st.Folders)
			return a.printJSON(st)
		}
		return a.printKB(st)
	})
	status.Flags().BoolVar(&asJSON, "json", false, a.t("cli.flag_json"))
	return a.group("kb", "cli.kb", add, remove, status, a.kbSearch())
}

func (a *app) printKB(st control.KBStatus) error {
	var b strings.Builder
	for _, f := range st.Folders {
		fmt.Fprintln(&b, a.t("cli.kb_folder", visible(f.Path), f.Documents, f.Chunks, f.Skipped))
	}
	b.WriteString(a.t("cli.kb_sum", st.Documents, st.Chunks, st.Vectors))
	if st.Model != "" {
		b.WriteString(" (" + st.Model + ")")
	}
	if st.Working != "" {
		b.WriteString("\n" + a.t("cli.kb_working", st.Done, st.Total, visible(st.Working)))
	}
	for _, p := range st.Problems {
		b.WriteString("\n" + a.t("cli.kb_skipped", visible(p.Path), p.Reason))
	}
	return a.print(b.String())
}

func (a *app) kbSearch() *cobra.Command {
	var asJSON bool
	var k int
	c := a.command("search QUERY", "cli.kb_search", cobra.MinimumNArgs(1), func(ctx context.Context, args []string) error {
		if k < 0 {
			return a.misuse("cli.bad_k", k)
		}
		c, err := a.owner()
		if err != nil {
			return err
		}
		hits, err := c.KBSearch(ctx, strings.Join(args, " "), k)
		if err != nil {
			return err
		}
		if asJSON {
			return a.printJSON(list(hits))
		}
		if len(hits) == 0 {
			a.note(a.t("cli.kb_nothing"))
		}
		for _, h := range hits {
			place := h.Path
			if h.StartLine > 0 {
				place = fmt.Sprintf("%s:%d-%d", h.Path, h.StartLine, h.EndLine)
			}
			if err := a.print(fmt.Sprintf("%.2f  %s  [%s]\n%s\n", h.Score, visible(place), strings.Join(h.Matched, ", "), indent(visible(h.Snippet)))); err != nil {
				return err
			}
		}
		return nil
	})
	c.Flags().BoolVar(&asJSON, "json", false, a.t("cli.flag_json"))
	c.Flags().IntVarP(&k, "results", "k", 0, a.t("cli.flag_k"))
	return c
}

func indent(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n    ")
}
