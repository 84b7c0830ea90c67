#!/bin/sh
# Install the engines that the tests start themselves: Docker, Redis, bubblewrap. Needs root and apt;
# elsewhere it says what is missing, and the tests that need it are skipped (in CI they fail).
set -u
missing=""
command -v dockerd >/dev/null || missing="$missing docker.io iptables"
command -v redis-server >/dev/null || missing="$missing redis-server"
command -v bwrap >/dev/null || missing="$missing bubblewrap"
command -v git >/dev/null || missing="$missing git"
[ -z "$missing" ] && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "missing for the tests:$missing" >&2
  exit 0
fi
# Services must not start by themselves: the tests run private ones.
if [ ! -e /usr/sbin/policy-rc.d ]; then
  printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d && chmod +x /usr/sbin/policy-rc.d
  trap 'rm -f /usr/sbin/policy-rc.d' EXIT
fi
apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
