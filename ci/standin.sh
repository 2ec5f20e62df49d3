#!/bin/sh
# Provides the base images of the Dockerfile where no registry can be reached: when a tag is neither here nor to be
# pulled, an image of that name is made from Debian's packages and this machine's Rust toolchain. Needs root.
#
# The certificates of this machine go into the build image only, never into the one that is shipped.
set -eu
cd "$(dirname "$0")/.."
. ci/lib.sh

runtime=$(sed -n 's/^ARG RUNTIME_IMAGE=//p' Dockerfile)
build=$(sed -n 's/^ARG RUST_IMAGE=//p' Dockerfile)
suite=bookworm
lock=$(sha256sum Cargo.lock | cut -c 1-16)

label() { docker image inspect --format "{{index .Config.Labels \"llmdbg.standin\"}}" "$1" 2>/dev/null; }
# Here already (and, for a stand-in, with the crates of this Cargo.lock), or to be had.
provided() {
  case $(label "$1") in
    "" | "<no value>") docker image inspect "$1" >/dev/null 2>&1 || timeout 60 docker pull -q "$1" >/dev/null 2>&1 ;;
    "$2") ;;
    *) return 1 ;;
  esac
}

# Makes an image of the tree: import TAG LABEL OPTION...
import() {
  tag=$1 value=$2
  shift 2
  tar -C "$root" --exclude='./var/cache/apt/archives/*.deb' --exclude='./var/lib/apt/lists/*' --exclude=./etc/resolv.conf -c . |
    docker import --change "LABEL llmdbg.standin=$value" "$@" - "$tag" >/dev/null
}

if provided "$runtime" base && provided "$build" "$lock"; then
  exit 0
fi
[ "$(id -u)" = 0 ] || fail "$runtime and $build cannot be pulled, and making stand-ins needs root"

work=$(mktemp -d "${TMPDIR:-/tmp}/llmdbg-standin-XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir "$root"
if provided "$runtime" base; then
  container=$(docker create "$runtime" true)
  docker export "$container" | tar -C "$root" -x
  docker rm "$container" >/dev/null
  cp /etc/resolv.conf "$root/etc/resolv.conf"
else
  say "making a stand-in for $runtime"
  command -v debootstrap >/dev/null || apt_install debootstrap
  debootstrap --variant=minbase "$suite" "$root" >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; fail "debootstrap failed"; }
  import "$runtime" base
fi

say "making a stand-in for $build"
cargo fetch --locked
sysroot=$(rustc --print sysroot)
{
  chroot "$root" apt-get update &&
    DEBIAN_FRONTEND=noninteractive chroot "$root" \
      apt-get install -y --no-install-recommends gcc g++ libc6-dev ca-certificates
} >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; fail "the compilers cannot be installed"; }
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
mkdir -p "$root/usr/local/rust" "$root/usr/local/cargo/registry"
cp -a "$sysroot/bin" "$sysroot/lib" "$sysroot/libexec" "$root/usr/local/rust/"
for part in index cache; do
  cp -a "${CARGO_HOME:-$HOME/.cargo}/registry/$part" "$root/usr/local/cargo/registry/"
done
import "$build" "$lock" --change 'ENV CARGO_HOME=/usr/local/cargo' \
  --change 'ENV PATH=/usr/local/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
