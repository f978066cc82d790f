package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"perch/chat"
	"perch/control"
)

// printJSON writes a value as indented JSON.
func (a *app) printJSON(v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return a.print(string(b))
}

// list keeps an empty list from being null in JSON.
func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

func (a *app) sessionsCommand() *cobra.Command {
	var asJSON bool
	var search string
	var limit int
	c := a.command("sessions", "cli.sessions", cobra.NoArgs, func(ctx context.Context, _ []string) error {
		c, err := a.owner()
		if err != nil {
			return err
		}
		found, err := c.ListSessions(ctx, control.SessionQuery{Search: search, Limit: limit})
		if err != nil {
			return err
		}
		if asJSON {
			return a.printJSON(list(found))
		}
		if len(found) == 0 {
			a.note(a.t("cli.no_sessions"))
			return nil
		}
		now := time.Now()
		for _, s := range found {
			line := fmt.Sprintf("%s  %s  %4d  %s", s.ID, pad(age(a, now.Sub(s.Used)), 12), s.Messages, visible(title(a, s)))
			if s.Activity != control.Idle {
				line += "  [" + a.t("cli.activity."+string(s.Activity)) + "]"
			}
			if err := a.print(line); err != nil {
				return err
			}
			for _, extra := range []string{s.Snippet, s.Problem} {
				if extra != "" {
					if err := a.print("    " + visible(extra)); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
	c.Flags().BoolVar(&asJSON, "json", false, a.t("cli.flag_json"))
	c.Flags().StringVar(&search, "search", "", a.t("cli.flag_search"))
	c.Flags().IntVarP(&limit, "limit", "n", 0, a.t("cli.flag_limit"))
	return c
}

func title(a *app, s control.SessionInfo) string {
	if s.Title == "" {
		return a.t("cli.untitled")
	}
	return s.Title
}

// age says how long ago something was.
func age(a *app, d time.Duration) string {
	switch {
	case d < time.Minute:
		return a.t("cli.just_now")
	case d < time.Hour:
		return a.t("cli.minutes_ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return a.t("cli.hours_ago", int(d.Hours()))
	}
	return a.t("cli.days_ago", int(d.Hours()/24))
}

// pad fills up to n runes.
func pad(s string, n int) string {
	return s + strings.Repeat(" ", max(0, n-len([]rune(s))))
}

func (a *app) sessionCommand() *cobra.Command {
	// on makes a command about one session.
	on := func(use, short string, args cobra.PositionalArgs, do func(ctx context.Context, c *control.Client, id string, rest []string) error) *cobra.Command {
		return a.command(use, short, args, func(ctx context.Context, args []string) error {
			c, err := a.owner()
			if err != nil {
				return err
			}
			id, err := sessionID(ctx, c, args[0])
			if err != nil {
				return err
			}
			return do(ctx, c, id, args[1:])
		})
	}
	var asJSON bool
	show := on("show ID", "cli.session_show", cobra.ExactArgs(1), func(ctx context.Context, c *control.Client, id string, _ []string) error {
		v, err := c.ViewSession(ctx, id)
		if err != nil {
			return err
		}
		if asJSON {
			return a.printJSON(v)
		}
		return a.printSession(v)
	})
	show.Flags().BoolVar(&asJSON, "json", false, a.t("cli.flag_json"))
	return a.group("session", "cli.session", show,
		on("export ID", "cli.session_export", cobra.ExactArgs(1), func(ctx context.Context, c *control.Client, id string, _ []string) error {
			out := bufio.NewWriter(a.Stdout)
			if err := c.ExportSession(ctx, id, func(line []byte) error {
				if _, err := out.Write(line); err != nil {
					return err
				}
				return out.WriteByte('\n')
			}); err != nil {
				return err
			}
			return out.Flush()
		}),
		a.command("import FILE", "cli.session_import", cobra.ExactArgs(1), a.importSession),
		on("rename ID TITLE", "cli.session_rename", cobra.MinimumNArgs(2), func(ctx context.Context, c *control.Client, id string, rest []string) error {
			t := strings.Join(rest, " ")
			_, err := c.PatchSession(ctx, id, control.SessionPatch{Title: &t})
			return err
		}),
		on("clear ID", "cli.session_clear", cobra.ExactArgs(1), func(ctx context.Context, c *control.Client, id string, _ []string) error {
			return c.ClearSession(ctx, id)
		}),
		on("delete ID", "cli.session_delete", cobra.ExactArgs(1), func(ctx context.Context, c *control.Client, id string, _ []string) error {
			return c.DeleteSession(ctx, id)
		}),
		on("fork ID [MESSAGE]", "cli.session_fork", cobra.RangeArgs(1, 2), func(ctx context.Context, c *control.Client, id string, rest []string) error {
			message := ""
			if len(rest) > 0 {
				message = rest[0]
			}
			info, err := c.ForkSession(ctx, id, message)
			if err != nil {
				return err
			}
			return a.print(info.ID)
		}),
	)
}

// importSession reads an export and prints the new id.
func (a *app) importSession(ctx context.Context, args []string) error {
	in := a.Stdin
	if args[0] != "-" {
		f, err := os.Open(args[0])
		if err != nil {
			return a.failed("cli.bad_file", args[0], reason(err))
		}
		defer f.Close()
		if st, err := f.Stat(); err == nil && st.IsDir() {
			return a.failed("cli.bad_file", args[0], errors.New(a.t("cli.is_folder")))
		}
		in = f
	}
	c, err := a.owner()
	if err != nil {
		return err
	}
	r := bufio.NewReader(in)
	info, err := c.ImportSession(ctx, func() ([]byte, error) {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 && errors.Is(err, io.EOF) {
			err = nil
		}
		return bytes.TrimRight(line, "\r\n"), err
	})
	if err != nil {
		return err
	}
	return a.print(info.ID)
}

// printSession writes a session for people, with the ids that fork takes.
func (a *app) printSession(v control.SessionView) error {
	out := bufio.NewWriter(a.Stdout)
	fmt.Fprintf(out, "%s  %s\n", v.ID, visible(title(a, v.SessionInfo)))
	if v.Dir != "" {
		fmt.Fprintln(out, visible(v.Dir))
	}
	marks := map[string]bool{}
	for _, m := range v.Marks {
		if !m.Undone {
			marks[m.Before] = true
		}
	}
	for i := range v.History {
		m := &v.History[i]
		if marks[m.ID] {
			fmt.Fprintf(out, "\n--- %s ---\n", a.t("cli.compacted_here"))
		}
		switch {
		case m.Kind != chat.KindOrdinary:
			continue
		case m.Result != nil:
			mark := "✓"
			if m.Result.IsError {
				mark = "✗"
			}
			fmt.Fprintf(out, "  %s %s: %s\n", mark, m.Result.Name, cut(visible(firstLine(m.Result.Text)), gistRunes))
			continue
		case m.Role == chat.RoleUser:
			fmt.Fprintf(out, "\n> %s\n", strings.ReplaceAll(visible(m.PlainText()), "\n", "\n> "))
		default:
			if s := m.PlainText(); s != "" {
				fmt.Fprintf(out, "\n%s\n", visible(s))
			}
			for _, c := range m.Calls() {
				fmt.Fprintf(out, "  → %s%s\n", c.Name, gist(json.RawMessage(c.Input)))
			}
			if m.Interrupted {
				fmt.Fprintf(out, "  [%s]\n", a.t("cli.interrupted"))
			}
		}
		fmt.Fprintf(out, "  (%s)\n", m.ID)
	}
	return out.Flush()
}
