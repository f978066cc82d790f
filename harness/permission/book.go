package permission

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"perch/chat"
	"perch/control"
	"perch/harness"
)

// Where the rules lie in the store.
const (
	bucket    = "permission"
	rulesKey  = "rules"
	brokenKey = "rules.unreadable"
)

// Store is what a [Book] needs of the session store.
type Store interface {
	// Value returns nil for a missing key.
	Value(bucket, key string) ([]byte, error)
	SetValue(bucket, key string, value []byte) error
}

// Book keeps the grants of sessions in memory and the rules given for always in
// the store. It is safe for several runs at once.
type Book struct {
	store Store
	// allowed says that the settings let a tool run without asking.
	allowed func(tool string) bool
	now     func() time.Time

	mu       sync.Mutex // protects what follows
	rules    []control.Rule
	sessions map[string]*sessionGrants
}

// sessionGrants is what one session was allowed.
type sessionGrants struct {
	grants []Grant
	// search says that the run at work may search after untrusted content.
	search bool
}

var (
	_ harness.Permissions = (*Book)(nil)
	_ control.Rules       = (*Book)(nil)
)

// NewBook reads the rules. toolAllowed says which tools the settings let run
// without asking; nil is none. Rules that cannot be read are set aside in the
// store, and the book begins without any: it asks more, never less.
func NewBook(s Store, toolAllowed func(tool string) bool) (*Book, error) {
	b := &Book{store: s, allowed: toolAllowed, now: time.Now, sessions: map[string]*sessionGrants{}}
	if b.allowed == nil {
		b.allowed = func(string) bool { return false }
	}
	raw, err := s.Value(bucket, rulesKey)
	if err != nil {
		return nil, fmt.Errorf("read the permission rules: %w", err)
	}
	if raw == nil {
		return b, nil
	}
	if err := json.Unmarshal(raw, &b.rules); err != nil {
		b.rules = nil
		if err := s.SetValue(bucket, brokenKey, raw); err != nil {
			return nil, fmt.Errorf("set unreadable permission rules aside: %w", err)
		}
	}
	return b, nil
}

// Decide says what becomes of a call.
func (b *Book) Decide(g harness.Grants, tool string, needs []chat.Need) harness.Decision {
	b.mu.Lock()
	s := b.session(g.Session)
	if !g.Untrusted {
		// Content from outside is read by a call, and every call is decided about
		// first: so this is a run that has read none yet, and the answer that an
		// earlier run got does not count for it.
		s.search = false
	}
	p := Policy{
		Allow: g.Allow, Attached: g.Attached, Interactive: g.Interactive, Untrusted: g.Untrusted,
		SearchAllowed: s.search, ToolAllowed: b.allowed(tool), Grants: slices.Clone(s.grants),
	}
	for _, r := range b.rules {
		p.Rules = append(p.Rules, Grant{Tool: r.Tool, Kind: r.Kind, Subject: r.Subject})
	}
	b.mu.Unlock()
	d := Decide(tool, needs, p)
	return harness.Decision{Verdict: verdicts[d.Verdict], Reason: d.Reason, Asking: d.Asking}
}

var verdicts = map[Verdict]harness.Verdict{Allow: harness.Allow, Ask: harness.AskUser, Deny: harness.Deny}

// session returns the grants of a session; mu is held.
func (b *Book) session(id string) *sessionGrants {
	s := b.sessions[id]
	if s == nil {
		s = &sessionGrants{}
		b.sessions[id] = s
	}
	return s
}

// Answered keeps an answer: for the session in memory, for always in the store.
// An error means that a rule could not be stored; the answer then counts for the
// session.
func (b *Book) Answered(session, tool string, asked []chat.Need, v control.Verdict) error {
	if v == control.No || v == "" {
		return nil
	}
	grants, always := remembered(tool, asked, v)
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.session(session)
	if tool == webSearch {
		s.search = true
	}
	var err error
	if len(always) > 0 {
		if err = b.add(always); err != nil {
			grants = append(grants, always...)
		}
	}
	for _, g := range grants {
		if !slices.Contains(s.grants, g) {
			s.grants = append(s.grants, g)
		}
	}
	return err
}

// add stores rules; mu is held.
func (b *Book) add(gs []Grant) error {
	rules := slices.Clone(b.rules)
	for _, g := range gs {
		r := control.Rule{ID: ruleID(g), Tool: g.Tool, Kind: g.Kind, Subject: g.Subject, Created: b.now()}
		if !slices.ContainsFunc(rules, func(o control.Rule) bool { return o.ID == r.ID }) {
			rules = append(rules, r)
		}
	}
	return b.save(rules)
}

// save writes the rules and takes them over once they are stored; mu is held.
func (b *Book) save(rules []control.Rule) error {
	raw, err := json.Marshal(rules)
	if err != nil {
		return err
	}
	if err := b.store.SetValue(bucket, rulesKey, raw); err != nil {
		return fmt.Errorf("store the permission rules: %w", err)
	}
	b.rules = rules
	return nil
}

// ruleID is the same for the same rule, so that none is kept twice.
func ruleID(g Grant) string {
	sum := sha256.Sum256([]byte(g.Tool + "\x00" + string(g.Kind) + "\x00" + g.Subject))
	return hex.EncodeToString(sum[:6])
}

// Granted lists the subjects of a kind that a session may use, of one tool or
// (tool "") of all: the rules and the grants of the session.
func (b *Book) Granted(session, tool string, kind chat.NeedKind) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	add := func(g Grant) {
		if g.Kind == kind && (tool == "" || g.Tool == tool) && !slices.Contains(out, g.Subject) {
			out = append(out, g.Subject)
		}
	}
	for _, r := range b.rules {
		add(Grant{Tool: r.Tool, Kind: r.Kind, Subject: r.Subject})
	}
	if s := b.sessions[session]; s != nil {
		for _, g := range s.grants {
			add(g)
		}
	}
	return out
}

// EndSession forgets what a session was allowed.
func (b *Book) EndSession(session string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.sessions, session)
}

// List are the rules given for always, oldest first.
func (b *Book) List() []control.Rule {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.rules)
}

// Revoke takes a rule back. The next call asks again.
func (b *Book) Revoke(id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	rules := slices.DeleteFunc(slices.Clone(b.rules), func(r control.Rule) bool { return r.ID == id })
	if len(rules) == len(b.rules) {
		return chat.NewError(chat.ClassMisuse, "err.no_rule", "There is no permission rule %s. The settings list them.", id)
	}
	return b.save(rules)
}

// ListRules is [Book.List] for the control socket.
func (b *Book) ListRules(context.Context) ([]control.Rule, error) { return b.List(), nil }

// RevokeRule is [Book.Revoke] for the control socket.
func (b *Book) RevokeRule(_ context.Context, id string) error { return b.Revoke(id) }
