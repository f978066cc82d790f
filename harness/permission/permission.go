// Package permission decides what a tool call may do, and keeps what the user
// answered.
//
// [Decide] is the table: a pure function of what a call needs and what was
// granted. [Book] keeps the grants of each session in memory and the rules given
// for always in the store, and asks Decide.
//
// Guarantees: what is forbidden is never done, whatever was granted; a secret
// place and an effect that cannot be known before are asked about every time;
// where nobody can be asked, the answer is no.
package permission

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"perch/chat"
	"perch/control"
)

// Tools that the table names.
const (
	webSearch = "web_search"
	webFetch  = "web_fetch"
)

// Verdict is what becomes of a call.
type Verdict string

// The verdicts of [Decide].
const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask"
	Deny  Verdict = "deny"
)

// Policy is what was granted, for one call.
type Policy struct {
	// Allow are the kinds granted on the command line.
	Allow []chat.NeedKind
	// Rules were given for always; Grants for this session.
	Rules, Grants []Grant
	// Attached are desktop things that the user attached to the request.
	Attached []string
	// Interactive says that somebody can answer a question.
	Interactive bool
	// Untrusted says that the run has read something from outside.
	Untrusted bool
	// SearchAllowed says that the user was asked in this run, after untrusted
	// content, whether it may search the web.
	SearchAllowed bool
	// ToolAllowed says that the settings let this tool run without asking.
	ToolAllowed bool
}

// Grant is a tool and what it may do: a path with all below it, a command with
// its prefix, a host, or the name of a thing.
type Grant struct {
	Tool    string
	Kind    chat.NeedKind
	Subject string
}

// Decision is what becomes of a call.
type Decision struct {
	Verdict Verdict
	// Reason tells the model why a call is denied.
	Reason string
	// Asking are the needs that the question is about.
	Asking []chat.Need
}

// Decide says what becomes of a call of a tool that needs these.
func Decide(tool string, needs []chat.Need, p Policy) Decision {
	for _, n := range needs {
		if n.Forbidden != "" {
			return Decision{Verdict: Deny, Reason: "This is never done: " + n.Forbidden + ". No permission changes that. Find another way, or tell the user what to do by hand."}
		}
	}
	var asking []chat.Need
	for _, n := range needs {
		if !allowed(tool, n, p) {
			asking = append(asking, n)
		}
	}
	switch {
	case len(asking) == 0:
		return Decision{Verdict: Allow}
	case !p.Interactive:
		return Decision{Verdict: Deny, Reason: nobody(asking), Asking: asking}
	}
	return Decision{Verdict: Ask, Asking: asking}
}

// allowed reports whether one need is granted.
func allowed(tool string, n chat.Need, p Policy) bool {
	switch {
	case n.Uncertain, n.Secret:
		return false
	case tool == webSearch && n.Kind == chat.NeedNetwork && p.Untrusted:
		// What was read may have told the model to send data out in a query.
		return p.SearchAllowed || slices.Contains(p.Allow, n.Kind)
	case n.Free, p.ToolAllowed:
		return true
	case n.Kind == chat.NeedDesktop && slices.Contains(p.Attached, n.Subject):
		return true
	case slices.Contains(p.Allow, n.Kind):
		return true
	}
	covers := func(g Grant) bool { return g.covers(tool, n) }
	return slices.ContainsFunc(p.Grants, covers) || slices.ContainsFunc(p.Rules, covers)
}

// covers reports whether a grant is wide enough for a need.
func (g Grant) covers(tool string, n chat.Need) bool {
	if g.Tool != tool || g.Kind != n.Kind || g.Subject == "" {
		return false
	}
	if g.Subject == n.Subject {
		return true
	}
	switch n.Kind {
	case chat.NeedRead, chat.NeedWrite:
		return below(g.Subject, n.Subject)
	case chat.NeedExecute:
		return n.Prefix != "" && wordPrefix(g.Subject, n.Subject)
	case chat.NeedNetwork:
		// A host, or the command that wants the network.
		return strings.EqualFold(g.Subject, n.Subject) || n.Prefix != "" && wordPrefix(g.Subject, n.Subject)
	}
	return n.Prefix != "" && g.Subject == n.Prefix
}

// below reports whether path is dir or lies below it, by whole names.
func below(dir, path string) bool {
	if !filepath.IsAbs(dir) || strings.Contains(path, "..") && filepath.Clean(path) != path {
		return false
	}
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		dir, path = strings.ToLower(dir), strings.ToLower(path)
	}
	if !strings.HasSuffix(dir, string(filepath.Separator)) {
		dir += string(filepath.Separator)
	}
	return strings.HasPrefix(path, dir)
}

// wordPrefix reports whether a command begins with the words of a prefix. It is
// asked only for simple commands, which a need with a prefix is: one program
// with arguments, nothing computed, nothing chained. The last check keeps that
// true even if a tool is wrong about it.
func wordPrefix(prefix, command string) bool {
	p, c := strings.Fields(prefix), strings.Fields(command)
	if len(p) == 0 || len(c) < len(p) || !slices.Equal(p, c[:len(p)]) {
		return false
	}
	return !strings.ContainsAny(command, ";&|<>`$(){}\n\r\\")
}

// nobody tells the model that a question could not be asked.
func nobody(asking []chat.Need) string {
	var kinds []string
	sure := true
	for _, n := range asking {
		if k := string(n.Kind); !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
		if n.Uncertain || n.Secret || n.Kind == chat.NeedOther {
			sure = false
		}
	}
	text := fmt.Sprintf("This needs a permission (%s), and nobody can be asked here, so the answer is no.", strings.Join(kinds, ", "))
	if sure {
		return text + fmt.Sprintf(" Tell the user that `--allow %s` would grant it, and go on without it.", strings.Join(kinds, ","))
	}
	return text + " Tell the user that this must be asked in the popup or a terminal, and go on without it."
}

// remembered are the grants that an answer gives for later calls.
func remembered(tool string, asked []chat.Need, v control.Verdict) (session, always []Grant) {
	for _, n := range asked {
		if n.Uncertain || n.Secret || n.Forbidden != "" {
			continue // asked about every time
		}
		g := Grant{Tool: tool, Kind: n.Kind, Subject: n.Prefix}
		if g.Subject == "" {
			g.Subject = n.Subject
		}
		// "Once a session" and "once a host": a single yes covers it.
		once := n.Once || tool == webFetch && n.Kind == chat.NeedNetwork
		switch {
		case tool == webSearch && n.Free:
			// Asked because of what the run has read; see [Policy.SearchAllowed].
		case v == control.Always && !n.Once:
			always = append(always, g)
		case v == control.InRun, v == control.Always, v == control.Once && once:
			session = append(session, g)
		}
	}
	return session, always
}
