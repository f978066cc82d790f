package cli

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/spf13/cobra"

	"perch/chat"
	"perch/control"
)

func (a *app) statsCommand() *cobra.Command {
	var asJSON bool
	c := a.command("stats", "cli.stats", cobra.NoArgs, func(ctx context.Context, _ []string) error {
		c, err := a.owner()
		if err != nil {
			return err
		}
		s, err := c.Stats(ctx)
		if err != nil {
			return err
		}
		if asJSON {
			s.ToolFailures = list(s.ToolFailures)
			return a.printJSON(s)
		}
		return a.print(a.statsText(s))
	})
	c.Flags().BoolVar(&asJSON, "json", false, a.t("cli.flag_json"))
	return c
}

// statsText is the table of perch stats.
func (a *app) statsText(s control.Stats) string {
	var b strings.Builder
	row := func(id string, value any) { fmt.Fprintf(&b, "%s  %v\n", pad(a.t(id), 24), value) }
	usage := func(u chat.Usage) string {
		return a.t("cli.stats_tokens", u.TotalInput(), u.Output, fmt.Sprintf("%.4f", u.Cost))
	}
	row("cli.stats_runs", fmt.Sprintf("%d (%s)", s.Runs, a.t("cli.stats_failed", s.Failed)))
	row("cli.stats_rounds", s.Rounds)
	row("cli.stats_retries", s.Retries)
	row("cli.stats_compactions", s.Compactions)
	row("cli.stats_refused", s.Refused)
	row("cli.stats_usage", usage(s.Usage))
	row("cli.stats_today", usage(s.Today))
	row("cli.stats_time", a.t("cli.stats_times", short(s.Timings.Provider), short(s.Timings.Tools), short(s.Timings.Compaction), short(s.Timings.Waiting)))
	for _, m := range sortedKeys(s.Models) {
		fmt.Fprintf(&b, "%s  %d, %s\n", pad(m, 24), s.Models[m].Runs, usage(s.Models[m].Usage))
	}
	if len(s.ToolCalls) > 0 {
		b.WriteString("\n" + a.t("cli.stats_tools") + "\n")
		for _, t := range sortedKeys(s.ToolCalls) {
			fmt.Fprintf(&b, "  %s  %d\n", pad(t, 22), s.ToolCalls[t])
		}
	}
	if len(s.ToolFailures) > 0 {
		b.WriteString("\n" + a.t("cli.stats_failures") + "\n")
		for _, f := range s.ToolFailures {
			fmt.Fprintf(&b, "  %s  %s  %d\n", pad(f.Tool, 22), pad(string(f.Kind), 14), f.Count)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
