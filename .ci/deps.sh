#!/bin/sh
# Installs what building and testing Perch needs on Debian and its kin.
#
#   .ci/deps.sh run    what `make run` needs: to build the popup and to show text
#   .ci/deps.sh test   the same and what the tests start: display, bus, servers
#
# Without root or sudo it prints the one line to run and ends with 3, so that
# the caller can go on with what needs none of it.
set -u
cd "$(dirname "$0")/.." || exit 1

build="gcc libc6-dev pkg-config libgl1-mesa-dev libx11-dev libxcursor-dev libxrandr-dev libxinerama-dev libxi-dev libxxf86vm-dev libwayland-dev libxkbcommon-dev"
show="fonts-noto-cjk fonts-noto-color-emoji fonts-dejavu-core xclip libgl1-mesa-dri"
test="xvfb xserver-xorg-video-dummy openbox xfwm4 i3-wm xdotool dbus dbus-x11 dunst imagemagick x11-utils x11-xserver-utils poppler-utils procps iproute2 curl ibus ibus-libpinyin postgresql git"

want="$build $show"
[ "${1:-run}" = test ] && want="$want $test"

if command -v dpkg-query >/dev/null 2>&1; then
	missing=""
	for p in $want; do
		dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $p"
	done
	if [ "${1:-run}" = test ] && ! command -v npm >/dev/null 2>&1; then
		missing="$missing nodejs npm"
	fi
	if [ -n "$missing" ]; then
		as=""
		if [ "$(id -u)" != 0 ]; then
			if command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
				as="sudo"
			elif command -v sudo >/dev/null 2>&1 && [ -t 0 ]; then
				as="sudo"
			else
				echo "Some packages are missing and can only be installed by root. Run this once:"
				echo "  apt-get install -y --no-install-recommends$missing"
				exit 3
			fi
		fi
		echo "Installing:$missing"
		$as apt-get update -q >/dev/null 2>&1
		$as env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing >/dev/null || {
			echo "The packages could not be installed. Run this by hand and look at what it says:"
			echo "  apt-get install -y --no-install-recommends$missing"
			exit 3
		}
	fi
else
	echo "This is no Debian: install the packages that correspond to:"
	echo "  $want"
fi

# Servers made by others, from npm, for the tests that talk to real ones.
if [ "${1:-run}" = test ] && command -v npm >/dev/null 2>&1 && [ -f .ci/npm-packages.txt ]; then
	dir="${PERCH_NPM:-$PWD/.cache/npm}"
	mkdir -p "$dir"
	if ! cmp -s .ci/npm-packages.txt "$dir/installed.txt"; then
		[ -f "$dir/package.json" ] || echo '{"private":true}' >"$dir/package.json"
		if (cd "$dir" && npm install --silent --no-audit --no-fund --no-save $(grep -v '^#' "$OLDPWD/.ci/npm-packages.txt" | sort -u)) >"$dir/install.log" 2>&1; then
			cp .ci/npm-packages.txt "$dir/installed.txt"
		else
			echo "The npm packages could not be installed; tests that need them will say so and skip. See $dir/install.log"
		fi
	fi
fi
exit 0
