#!/bin/bash
# Makes the pictures of the README: the real window, under an X server without a
# screen, with made-up sessions.
set -euo pipefail
cd "$(dirname "$0")/.."
want="${1:-docs/pictures}"
all=$(mktemp -d)
exec 3<>"$all/display"
Xvfb -displayfd 3 -screen 0 1280x900x24 >/dev/null 2>&1 &
server=$!
trap 'kill $server 2>/dev/null; rm -rf "$all"' EXIT
display=""
for _ in $(seq 100); do
	display=$(cat "$all/display" 2>/dev/null || true)
	[ -n "$display" ] && break
	sleep 0.1
done
[ -n "$display" ] || { echo "Xvfb did not start; install the package xvfb." >&2; exit 1; }
DISPLAY=":$display" bin/perch-popup -pictures "$all/out"
mkdir -p "$want"
for name in answer-light question-dark scripts-dark settings-light first-start-light knowledge-dark; do
	cp "$all/out/$name.png" "$want/$name.png"
done
