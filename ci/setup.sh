#!/bin/sh
# Installs what building and testing on the host needs and is missing: C and C++ compilers, git, a Rust toolchain.
set -eu
cd "$(dirname "$0")/.."
. ci/lib.sh

missing=
command -v gcc >/dev/null && command -v g++ >/dev/null && [ -e /usr/include/stdio.h ] || missing="gcc g++ libc6-dev"
command -v git >/dev/null || missing="$missing git"
# The list is split on purpose.
# shellcheck disable=SC2086
[ -z "$missing" ] || apt_install $missing

minimum=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
recent_enough() {
  command -v cargo >/dev/null || return 1
  found=$(rustc --version | cut -d ' ' -f 2)
  [ "$(printf '%s\n%s\n' "$minimum" "$found" | sort -V | head -n 1)" = "$minimum" ]
}
if ! recent_enough && [ -x "$HOME/.cargo/bin/cargo" ]; then
  PATH="$HOME/.cargo/bin:$PATH"
fi
if ! recent_enough; then
  say "installing Rust $minimum with rustup"
  command -v curl >/dev/null || apt_install curl ca-certificates
  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs |
    sh -s -- -y --no-modify-path --profile minimal --component clippy --component rustfmt --default-toolchain "$minimum"
  PATH="$HOME/.cargo/bin:$PATH"
  recent_enough || fail "the installed Rust is older than $minimum"
fi
