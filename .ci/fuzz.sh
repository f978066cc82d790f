#!/bin/bash
# Runs every fuzz target for a time. The fuzzer of Go sometimes ends a target with
# "context deadline exceeded" when its time is up: that is no
# finding; an input that fails, or anything else, is.
set -uo pipefail
cd "$(dirname "$0")/.."
time="${1:-60s}"
go="${GO:-go}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for pkg in $(git grep -l '^func Fuzz' -- '*_test.go' | xargs -n1 dirname | sort -u); do
	for f in $(grep -ho '^func Fuzz[A-Za-z0-9_]*' "$pkg"/*_test.go | sed 's/func //' | sort -u); do
		echo "$pkg $f"
		if "$go" test -run '^$' -fuzz "^$f\$" -fuzztime "$time" "./$pkg" >"$log" 2>&1; then
			tail -2 "$log" | head -1
		elif grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input written' "$log"; then
			echo "  its time was up"
		else
			cat "$log"
			exit 1
		fi
	done
done
