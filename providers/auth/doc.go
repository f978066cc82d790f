// Package auth keeps credentials and signs in.
//
// A key or sign-in lies in the system's keyring, else in a file of mode 0600,
// else a key comes from the vendor's environment variable; which of these it is
// is recorded. Guarantees: a rotated refresh token is stored before its access
// token is used; an expiring sign-in is refreshed once, however many callers and
// processes wait for it; a refused refresh never wipes what is stored; no secret
// is in an error, a log line or a status.
package auth

import "perch/providers"

// Redact blanks every secret that this process has used, and what has the shape
// of one.
func Redact(text string) string { return providers.Redact(text) }
