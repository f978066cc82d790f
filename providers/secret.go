package providers

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
)

// Redacted stands where a secret stood.
const Redacted = "[secret]"

// minRedacted is the shortest secret that is looked for in texts, in bytes: a
// shorter one would blank ordinary words.
const minRedacted = 6

// Secret is a key or token. Printing, logging and encoding it give [Redacted];
// only Reveal gives the text.
type Secret string

// Reveal returns the secret, for the header that carries it.
func (s Secret) Reveal() string {
	s.remember()
	return string(s)
}

func (s Secret) remember() {
	if len(s) >= minRedacted {
		known.LoadOrStore(string(s), true)
	}
}

// String returns the stand-in.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return Redacted
}

// GoString returns the stand-in.
func (s Secret) GoString() string { return s.String() }

// Format writes the stand-in for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// MarshalJSON writes the stand-in.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// MarshalText writes the stand-in.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue returns the stand-in.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// known are the secrets that this process has used.
var known sync.Map // string → true

// keyShapes are the public shapes of vendors' keys and of bearer headers: they
// are blanked even when this process never used them.
var keyShapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:sk|gsk|xai|hf|r8|pplx|nvapi|csk|ghp|gho)[-_][A-Za-z0-9_\-*]{8,}|\bAIza[A-Za-z0-9_\-]{20,}|\bya29\.[A-Za-z0-9_\-]{20,}|\b[Bb]earer +[A-Za-z0-9_\-.~+/=]{8,}|\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]*`)
})

// minShape is the shortest key that is known by its prefix alone, in bytes; what
// is shorter, or has no digit, may be a file's name.
const minShape = 16

// shaped blanks what a key's shape matched, unless it may be an ordinary word.
func shaped(s string) string {
	for _, sure := range []string{"sk-", "AIza", "ya29", "eyJ", "Bearer", "bearer"} {
		if strings.HasPrefix(s, sure) {
			return Redacted
		}
	}
	if len(s) < minShape || !strings.ContainsAny(s, "0123456789") {
		return s
	}
	return Redacted
}

// Redact blanks every secret that this process has used, and what has the shape
// of one.
func Redact(text string) string {
	if len(text) < minRedacted {
		return text
	}
	known.Range(func(k, _ any) bool {
		text = strings.ReplaceAll(text, k.(string), Redacted)
		return true
	})
	return keyShapes().ReplaceAllStringFunc(text, shaped)
}
