// Package exec runs commands that have side effects.
//
// What it guarantees:
//
//   - No process of a command outlives it: descendants that changed their group
//     or session, ignore SIGTERM or hold the output open are ended on timeout,
//     on abort, when the command itself ends, and when Perch is killed.
//   - A run returns within a second of its abort, whatever the command does.
//   - Memory stays flat, whatever the command prints. What does not fit the
//     result is in a 0600 file, with secrets hidden.
//   - The child gets an environment built from an allowlist; that of Perch is
//     neither inherited nor changed.
//   - On Linux the child is confined (see confine_linux.go); the result says
//     whether that was active and what was missing.
//
// On Linux a command takes two stages. Perch starts itself as a supervisor,
// which is the subreaper of everything below it and reads a pipe from Perch; the
// supervisor starts the second stage, which confines itself and becomes the
// command. So the command is inside the confinement, its supervisor is not, and
// the command cannot signal it. Elsewhere see start_windows.go and
// start_other.go.
package exec
