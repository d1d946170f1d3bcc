#!/usr/bin/env bash
# Puts a Chromium on this machine if there is no browser, for the tests of pages. Never fails:
# without one those tests are skipped, with the reason.
found() {
  local name
  for name in "${STAGEWISE_BROWSER:-chromium}" chromium chromium-browser google-chrome \
    google-chrome-stable chrome; do
    command -v "$name" >/dev/null 2>&1 && return 0
  done
  return 1
}

as_root=()
if [ "$(id -u)" -ne 0 ]; then as_root=(sudo -n); fi
export DEBIAN_FRONTEND=noninteractive

# apt SECONDS ARGUMENT...: quietly, and not for ever
apt() {
  timeout "$1" "${as_root[@]}" apt-get -qq "${@:2}" >/dev/null 2>&1 </dev/null
}

install() {
  apt 300 install -y --no-install-recommends chromium
}

found && exit 0
if command -v apt-get >/dev/null 2>&1; then
  echo "Installing chromium for the tests of pages ..."
  install || { apt 120 update && install; }
fi
found || echo "There is no browser, so tests of pages are skipped. Install chromium, or name one" \
  "in STAGEWISE_BROWSER."
exit 0
