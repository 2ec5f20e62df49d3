#!/bin/sh
# Builds llmdbg and shows it at work: a crash found and explained by a short script. Installs what is missing.
#   ci/demo.sh              on this machine
#   ci/demo.sh container    in the hardened container
set -eu
cd "$(dirname "$0")/.."
. ci/lib.sh

case ${1:-host} in
  host)
    . ci/setup.sh
    say "building llmdbg"
    cargo build --release --locked
    say "llmdbg demo"
    target/release/llmdbg demo
    ;;
  container)
    ci/container.sh
    say "docker exec -i llmdbg llmdbg demo"
    docker exec -i llmdbg llmdbg demo
    ;;
  *) fail "usage: ci/demo.sh [host|container]" ;;
esac
