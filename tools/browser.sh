#!/usr/bin/env bash
# Brings the browser that tests/site drives: Debian's where apt and root are there, Playwright's own otherwise.
# Usage: tools/browser.sh PYTHON, where PYTHON has playwright installed.
set -euo pipefail
python=$1

command -v chromium >/dev/null && exit 0

if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
  echo "browser: installing Debian's chromium"
  apt-get update -qq
  # Ubuntu has no such package (only a snap): Playwright's own is brought below.
  if DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; then
    exit 0
  fi
fi

echo "browser: installing Playwright's own chromium"
"$python" -m playwright install chromium
