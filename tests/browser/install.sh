#!/usr/bin/env bash
# Puts a Chromium on this machine if there is none, for the tests of pages. Never fails: without a
# browser those tests are skipped, and say what to install.
for name in "${STAGEWISE_BROWSER:-chromium}" chromium-browser google-chrome google-chrome-stable chrome; do
  command -v "$name" >/dev/null 2>&1 && exit 0
done
as_root=()
if [ "$(id -u)" -ne 0 ]; then as_root=(sudo -n); fi
apt() { timeout "$1" "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq "${@:2}" >/dev/null 2>&1; }
if command -v apt-get >/dev/null 2>&1; then
  echo "Installing chromium for the tests of pages ..."
  apt 300 install -y --no-install-recommends chromium ||
    { apt 120 update && apt 300 install -y --no-install-recommends chromium; }
fi
command -v chromium >/dev/null 2>&1 ||
  echo "There is no browser, so tests of pages will be skipped. Install chromium, or name one in STAGEWISE_BROWSER."
exit 0
