#!/bin/sh
# Builds the image and starts the container `llmdbg`: afterwards `docker exec -i llmdbg llmdbg` is a session.
set -eu
cd "$(dirname "$0")/.."
. ci/lib.sh

ci/docker.sh
ci/standin.sh
say "building the image llmdbg"
docker build -t llmdbg .
say "starting the container llmdbg"
# Also one that another copy of this repository left.
docker rm --force llmdbg >/dev/null 2>&1 || true
compose up -d --no-build
