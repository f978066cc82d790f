package cli

import (
	"context"
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

func (a *app) modelsCommand() *cobra.Command {
	var asJSON, all bool
	var check string
	c := a.command("models", "cli.models", cobra.NoArgs, func(ctx context.Context, _ []string) error {
		c, err := a.owner()
		if err != nil {
			return err
		}
		if check != "" {
			return a.checkModel(ctx, c, check)
		}
		models, err := c.ListModels(ctx)
		if err != nil {
			return err
		}
		if asJSON {
			return a.printJSON(list(models))
		}
		hidden := 0
		for _, m := range models {
			if !m.Ready && !all {
				hidden++
				continue
			}
			mark := " "
			if m.Ready {
				mark = "✓"
			}
			line := fmt.Sprintf("%s %s  %s", mark, pad(m.ID, 44), a.t("cli.model_window", m.ContextWindow/1000))
			if m.CostIn > 0 || m.CostOut > 0 {
				line += "  " + a.t("cli.model_cost", m.CostIn, m.CostOut)
			}
			if err := a.print(line); err != nil {
				return err
			}
		}
		if hidden > 0 {
			a.note(a.t("cli.models_hidden", hidden))
		}
		return nil
	})
	c.Flags().BoolVar(&asJSON, "json", false, a.t("cli.flag_json"))
	c.Flags().BoolVarP(&all, "all", "a", false, a.t("cli.flag_all_models"))
	c.Flags().StringVar(&check, "check", "", a.t("cli.flag_check"))
	return c
}

func (a *app) checkModel(ctx context.Context, c *control.Client, model string) error {
	r, err := c.CheckModel(ctx, model)
	if err != nil {
		return err
	}
	if !r.OK {
		if r.Error != nil {
			return r.Error
		}
		return a.failed("cli.check_failed", model)
	}
	return a.print(a.t("cli.check_ok", r.Model))
}

func (a *app) authCommand() *cobra.Command {
	var device, key bool
	login := a.command("login PROVIDER", "cli.auth_login", cobra.ExactArgs(1), func(ctx context.Context, args []string) error {
		c, err := a.owner()
		if err != nil {
			return err
		}
		if key {
			return a.storeKey(ctx, c, args[0])
		}
		err = a.signIn(ctx, c, args[0], device)
		var e *chat.Error
		if errors.As(err, &e) && e.Class == chat.ClassMisuse && !device && strings.Contains(e.ID, "oauth") {
			// A provider without a sign-in takes a key.
			return a.storeKey(ctx, c, args[0])
		}
		return err
	})
	login.Flags().BoolVar(&device, "device", false, a.t("cli.flag_device"))
	login.Flags().BoolVar(&key, "key", false, a.t("cli.flag_key"))

	logout := a.command("logout PROVIDER", "cli.auth_logout", cobra.ExactArgs(1), func(ctx context.Context, args []string) error {
		c, err := a.owner()
		if err != nil {
			return err
		}
		return c.Logout(ctx, args[0])
	})
	var asJSON bool
	status := a.command("status", "cli.auth_status", cobra.NoArgs, func(ctx context.Context, _ []string) error {
		c, err := a.owner()
		if err != nil {
			return err
		}
		all, err := c.AuthStatus(ctx)
		if err != nil {
			return err
		}
		if asJSON {
			return a.printJSON(list(all))
		}
		for _, s := range all {
			line := pad(s.Provider, 16) + "  "
			if s.Kind == "" {
				line += a.t("cli.auth_none")
			} else {
				line += strings.TrimSpace(s.Kind + "  " + s.Place + "  " + s.Detail)
			}
			if !s.Expires.IsZero() {
				line += "  " + a.t("cli.auth_expires", s.Expires.Local().Format(time.DateTime))
			}
			if err := a.print(line); err != nil {
				return err
			}
		}
		return nil
	})
	status.Flags().BoolVar(&asJSON, "json", false, a.t("cli.flag_json"))
	return a.group("auth", "cli.auth", login, logout, status)
}

// signIn walks through an OAuth sign-in.
func (a *app) signIn(ctx context.Context, c *control.Client, provider string, device bool) error {
	return c.Login(ctx, provider, device, func(s control.LoginStep) error {
		if s.URL != "" {
			a.note(a.t("cli.login_url", s.URL))
		}
		if s.Code != "" {
			a.note(a.t("cli.login_code", s.Code))
		}
		if s.Text != "" {
			a.note(visible(s.Text))
		}
		if s.Done {
			a.note(a.t("cli.login_done", provider))
		}
		return nil
	})
}

// storeKey reads a key, unseen, and hands it to the owner.
func (a *app) storeKey(ctx context.Context, c *control.Client, provider string) error {
	key, err := a.secret(a.t("cli.key_prompt", provider))
	if errors.Is(err, errNoInput) {
		return a.failed("cli.no_key_given")
	}
	if err != nil {
		return err
	}
	place, err := c.SetKey(ctx, provider, key)
	if err != nil {
		return err
	}
	return a.print(a.t("cli.key_stored", provider, a.t("cli.place."+place)))
}

// secret reads a line without showing it.
func (a *app) secret(prompt string) (string, error) {
	f, ok := a.Stdin.(*os.File)
	if ok && isTerminal(f) {
		restore, err := quiet(f)
		if err != nil {
			return "", err
		}
		defer restore()
		fmt.Fprint(a.Stderr, prompt)
		defer a.note("")
		select {
		case line := <-a.input().next():
			return nonEmpty(line)
		case <-a.ctx.Done():
			return "", a.ctx.Err()
		}
	}
	data, err := io.ReadAll(io.LimitReader(a.Stdin, maxLine))
	if err != nil {
		return "", err
	}
	return nonEmpty(string(data))
}

func nonEmpty(s string) (string, error) {
	if s = strings.TrimSpace(s); s == "" {
		return "", errNoInput
	}
	return s, nil
}
