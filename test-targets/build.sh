#!/bin/sh
# Builds the test targets: test-targets/build.sh [OUT], by default into test-targets/build.
#
# OUT/NAME for each line of targets.list, OUT/src for the sources, OUT/bad for files that are no sound program.
# Only what is older than its source is rebuilt. The paths in the debug information are those of the container image,
# /opt/test-targets/src, wherever the build runs.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
recorded=/opt/test-targets/src

# Everything that distributions set differently is pinned: PIE, CET, stack protection, hash style, binding time.
c_flags="-O0 -g -gdwarf-5 -fno-omit-frame-pointer -fcf-protection=none -fno-stack-protector -fno-stack-clash-protection
  -U_FORTIFY_SOURCE -Wall -Wextra -pthread -Wl,--build-id=sha1 -Wl,--hash-style=gnu -Wl,-z,relro -Wl,-z,now"
rust_flags="--edition 2024 -C debuginfo=2 -C codegen-units=1 -C force-frame-pointers=yes -C strip=none"

link_flags() {
  case $1 in
    pie) echo "-fPIE -pie" ;;
    no-pie) echo "-fno-pie -no-pie" ;;
    static) echo "-fno-pie -no-pie -static" ;;
    static-pie) echo "-fPIE -static-pie" ;;
    shared) echo "-fPIC -shared" ;;
    *) echo "targets.list: unknown link kind '$1'" >&2; return 1 ;;
  esac
}

compile() { # SOURCE LINK TO FLAG...
  source=$1 link=$2 to=$3
  shift 3
  # The flag lists are split on purpose.
  # shellcheck disable=SC2046,SC2086
  case $source in
    *.rs)
      level=0
      [ "$link" != release ] || level=3
      ${RUSTC:-rustc} $rust_flags -C opt-level=$level "--remap-path-prefix=$here/src=$recorded" -o "$to" "$@" "$here/src/$source" ;;
    *.cc)
      ${CXX:-g++} -std=c++17 $c_flags $(link_flags "$link") "-ffile-prefix-map=$here/src=$recorded" "$@" \
        -o "$to" "$here/src/$source" ;;
    *)
      ${CC:-gcc} -std=gnu11 $c_flags $(link_flags "$link") "-ffile-prefix-map=$here/src=$recorded" "$@" \
        -o "$to" "$here/src/$source" ;;
  esac
}

build_one() { # OUT NAME SOURCE LINK FLAG...
  out=$1 name=$2 source=$3 link=$4
  shift 4
  if [ -e "$out/$name" ] &&
    [ -z "$(find "$here/src/$source" "$here/src/beside.h" "$here/targets.list" "$here/build.sh" -newer "$out/$name")" ]; then
    return 0
  fi
  # The compiler works in the source folder, so that the recorded directory is mapped too; the result appears whole or not at all.
  work=$(mktemp -d "$out/.build-XXXXXX")
  (cd "$here/src" && compile "$source" "$link" "$work/$name" "$@") || { rm -rf "$work"; return 1; }
  mv "$work/$name" "$out/$name"
  rm -rf "$work"
  echo "built $name"
}

if [ "${1:-}" = --one ]; then
  shift
  build_one "$@"
  exit
fi

out=${1:-$here/build}
mkdir -p "$out/src"
out=$(CDPATH='' cd -- "$out" && pwd)
rm -rf "$out"/.build-*
sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$here/targets.list" |
  xargs -P "$(getconf _NPROCESSORS_ONLN)" -L 1 -- "$here/build.sh" --one "$out"
cp -p "$here"/src/* "$here/targets.list" "$out/src/"
"$here/bad.sh" "$out"
