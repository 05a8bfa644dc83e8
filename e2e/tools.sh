#!/usr/bin/env bash
# Looks for what the tests need besides Go and a C compiler: Node.js with npm, Python, a
# Chromium, and what packages are checked with. What is missing is installed by apt-get
# where this may be done; otherwise it ends with 1 and says what is to be installed.
set -euo pipefail

has() { command -v "$1" >/dev/null; }
nodejs() { has node && has npm; }
python() { has python3; }
checkers() { has promtool && has docker-compose && has systemd-analyze && has dpkg && has rpm; }
browser() { has chromium || has chromium-browser || has google-chrome-stable || has google-chrome || has headless_shell; }

missing=()
nodejs || missing+=(nodejs npm)
python || missing+=(python3)
browser || missing+=(chromium)
checkers || missing+=(prometheus docker-compose systemd dpkg rpm)
[ ${#missing[@]} -gt 0 ] || exit 0

echo "e2e: missing: ${missing[*]}"
if [ "$(id -u)" = 0 ] && has apt-get; then
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}" || true
fi
failed=0
nodejs || { echo "e2e: FAILED: install Node.js 20 or later, with npm: the official SDKs run on it" >&2; failed=1; }
python || { echo "e2e: FAILED: install Python 3: snippets of the console are run with it" >&2; failed=1; }
browser || { echo "e2e: FAILED: install Debian's package chromium: the SDKs are tested in a browser" >&2; failed=1; }
checkers || { echo "e2e: FAILED: install Debian's packages prometheus, docker-compose, systemd, dpkg and rpm: packages, alerts and the unit are checked with them" >&2; failed=1; }
exit $failed
