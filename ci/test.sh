#!/bin/sh
# Runs the tests; installs and builds what is missing.
#   ci/test.sh              on this machine, then the same transcripts in the container
#   ci/test.sh host         on this machine only
#   ci/test.sh container    in the container only
# Where no container engine can be had, that is said at the end. LLMDBG_REQUIRE=all makes every skip a failure.
set -eu
cd "$(dirname "$0")/.."
. ci/lib.sh
. ci/setup.sh

test_host() {
  say "building the test targets"
  test-targets/build.sh
  say "tests on this machine"
  cargo test --locked
}

test_container() {
  # Asked first, so that a missing engine is told from a failing image or test.
  if ! ci/docker.sh; then
    [ "${LLMDBG_REQUIRE:-}" != all ] || fail "no container engine, and LLMDBG_REQUIRE=all"
    skipped="THE CONTAINER TESTS DID NOT RUN: no docker engine can be had here (see above)"
    return 0
  fi
  ci/container.sh
  say "the same transcripts in the container"
  LLMDBG_RUN="docker exec -i llmdbg llmdbg" LLMDBG_TARGETS=/opt/test-targets cargo test --locked --test transcripts
}

skipped=
case ${1:-all} in
  all) test_host; test_container ;;
  host) test_host ;;
  container) test_container ;;
  *) fail "usage: ci/test.sh [all|host|container]" ;;
esac
[ -z "$skipped" ] || printf '\n%s\n' "*** $skipped ***" >&2
