#!/bin/sh
# Makes a docker engine answer: installs docker and compose where they are missing, starts dockerd where none answers.
# Exits 1, with the reason, where that cannot be done.
set -eu
cd "$(dirname "$0")/.."
. ci/lib.sh

log=${TMPDIR:-/tmp}/llmdbg-dockerd.log

has_compose() { docker compose version >/dev/null 2>&1 || command -v docker-compose >/dev/null; }

command -v docker >/dev/null && command -v dockerd >/dev/null || docker info >/dev/null 2>&1 || apt_install docker.io
has_compose || apt_install docker-compose || apt_install docker-compose-v2
docker info >/dev/null 2>&1 && exit 0

# An engine that is there but not ours to talk to is not replaced by a second one.
[ "$(id -u)" = 0 ] || fail "no docker engine answers: start it, or add yourself to the group docker"

# Starts dockerd with the storage driver given (none: its own choice) and waits for its answer or its end.
start() {
  say "starting dockerd ${1:+with the storage driver }${1:-}"
  setsid dockerd ${1:+--storage-driver "$1"} >"$log" 2>&1 </dev/null &
  daemon=$!
  waited=0
  until docker info >/dev/null 2>&1; do
    kill -0 "$daemon" 2>/dev/null || return 1
    waited=$((waited + 1))
    [ "$waited" -le 60 ] || { kill "$daemon"; return 1; }
    sleep 1
  done
}
# Where overlay file systems cannot be stacked, vfs works everywhere.
start "" || start vfs || { tail -n 20 "$log" >&2; fail "dockerd does not start"; }
