# `just` alone lists the recipes. What they do is in ci/, which works without just.

_list:
    @just --list --unsorted

# The tests, on this machine and in the container.
test:
    ci/test.sh

# The tests on this machine only.
test-host:
    ci/test.sh host

# The transcripts in the container only.
test-container:
    ci/test.sh container

# Builds the programs that the tests debug, into test-targets/build.
targets:
    test-targets/build.sh

# A crash found and explained by a short script, in the container.
demo:
    ci/demo.sh container

# Measures against bare C loops, in the same run.
bench:
    cargo bench --bench speed

# Builds the image and starts the container: then `docker exec -i llmdbg llmdbg` is a session.
docker:
    ci/container.sh

# What CI checks besides the tests.
lint:
    cargo fmt --check
    cargo clippy --all-targets -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --document-private-items

fmt:
    cargo fmt
