# Installs what building and testing on the host needs and is missing: C and C++ compilers, git, a Rust toolchain.
# Sourced after lib.sh, because it may extend PATH.
# shellcheck shell=sh

if ! { command -v gcc && command -v g++ && command -v readelf; } >/dev/null || ! [ -e /usr/include/stdio.h ]; then
  apt_install gcc g++ libc6-dev binutils
fi
command -v git >/dev/null || apt_install git

rust_minimum=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
rust_is_recent() {
  command -v cargo >/dev/null || return 1
  found=$(rustc --version | cut -d ' ' -f 2)
  [ "$(printf '%s\n%s\n' "$rust_minimum" "$found" | sort -V | head -n 1)" = "$rust_minimum" ]
}
rust_is_recent || PATH="$HOME/.cargo/bin:$PATH"
if ! rust_is_recent; then
  say "installing Rust $rust_minimum with rustup"
  command -v curl >/dev/null || apt_install curl ca-certificates
  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs |
    sh -s -- -y --no-modify-path --profile minimal --component clippy --component rustfmt --default-toolchain "$rust_minimum"
  rust_is_recent || fail "Rust $rust_minimum or later is needed: see https://rustup.rs"
fi
