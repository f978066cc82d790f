package providers

import (
	"crypto/sha256"
	"regexp"
	"strings"
	"sync"
)

const alnum = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// CallIDs maps the harness's call ids to what a vendor accepts. An id that fits
// stays; another becomes a hash of itself, so that the mapping is the same in
// every request and for a call and its result. exact demands the full length of
// letters and digits (Mistral).
func CallIDs(length int, exact bool) func(string) string {
	return func(id string) string {
		if exact {
			if len(id) == length && strings.Trim(id, alnum) == "" {
				return id
			}
			return hashed(id, length)
		}
		if id != "" && len(id) <= length && strings.Trim(id, alnum+"_-") == "" {
			return id
		}
		return hashed(id, min(length, 24))
	}
}

// hashed is n letters and digits made from s.
func hashed(s string, n int) string {
	sum := sha256.Sum256([]byte(s))
	b := make([]byte, n)
	for i := range b {
		b[i] = alnum[int(sum[i%len(sum)])%len(alnum)]
	}
	return string(b)
}

// CacheKey clips a session's cache key to a vendor's limit; a longer one is
// hashed, so that two sessions never share a key.
func CacheKey(key string, limit int) string {
	if len(key) <= limit {
		return key
	}
	return hashed(key, min(limit, 32))
}

// loneSurrogates finds runs of escaped surrogates in JSON text, with what
// escapes the backslash before them.
var loneSurrogates = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\\*(?:\\u[dD][89a-fA-F][0-9a-fA-F]{2})+`)
})

// mendSurrogates replaces escaped surrogates without their other half.
func mendSurrogates(run string) string {
	lead := strings.IndexByte(run, 'u')
	// An even number of backslashes before the u is escaped backslashes.
	if lead%2 == 0 {
		return run
	}
	var b strings.Builder
	b.WriteString(run[:lead-1])
	rest := run[lead-1:]
	for len(rest) >= 6 {
		high := strings.ContainsRune("89abAB", rune(rest[3]))
		if high && len(rest) >= 12 && strings.ContainsRune("cdefCDEF", rune(rest[9])) {
			b.WriteString(rest[:12])
			rest = rest[12:]
			continue
		}
		b.WriteString(`\ufffd`)
		rest = rest[6:]
	}
	b.WriteString(rest)
	return b.String()
}
