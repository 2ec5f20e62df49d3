# Shared by the scripts beside it; sourced, with the repository as the current directory.
# shellcheck shell=sh

say() { printf '\n== %s\n' "$*"; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

# Runs a command with the rights to install packages.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# Installs Debian packages, with one refresh of the lists when they are old or absent.
apt_install() {
  command -v apt-get >/dev/null || fail "$* must be installed by hand: there is no apt-get here"
  say "installing $*"
  export DEBIAN_FRONTEND=noninteractive
  as_root apt-get install -y --no-install-recommends "$@" >/dev/null 2>&1 ||
    { as_root apt-get update >/dev/null && as_root apt-get install -y --no-install-recommends "$@" >/dev/null; }
}

# `docker compose` where the plugin is, docker-compose where it is a program of its own.
compose() {
  if docker compose version >/dev/null 2>&1; then docker compose "$@"; else docker-compose "$@"; fi
}
