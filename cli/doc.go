// Package cli holds the commands of the terminal program. Each is a client of
// the running Perch ([control.Client]); one that finds none starts it.
//
// What a command is asked for goes to standard output; everything else (tool
// activity, notices, questions, errors) goes to standard error. Exit codes: 0
// the work ended by itself, 1 it failed, 2 wrong usage, 130 interrupted.
package cli
