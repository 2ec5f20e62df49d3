# Classic builder syntax only: Debian's docker has no BuildKit.
ARG RUST_IMAGE=rust:1.95-slim-bookworm
ARG RUNTIME_IMAGE=debian:bookworm-slim

FROM ${RUST_IMAGE} AS build
# The slim image has gcc and no g++, which the C++ test targets need.
RUN command -v g++ >/dev/null \
 || (apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*)
WORKDIR /src
# The dependencies have a layer of their own: it is kept until Cargo.lock changes.
COPY Cargo.toml Cargo.lock ./
RUN mkdir src && echo 'fn main() {}' > src/main.rs && touch src/lib.rs \
 && cargo build --release --locked --bin llmdbg \
 && rm -rf src
COPY test-targets test-targets
RUN test-targets/build.sh /out/test-targets
COPY . .
RUN touch src/main.rs src/lib.rs && cargo build --release --locked --offline --bin llmdbg

FROM ${RUNTIME_IMAGE}
# Nothing in the image may raise privileges, whatever the options of `docker run` are.
RUN groupadd --gid 10001 llmdbg \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /scratch --shell /usr/sbin/nologin llmdbg \
 && mkdir /scratch && chown 10001:10001 /scratch && chmod 0700 /scratch \
 && find / -xdev -perm /6000 -type f -exec chmod a-s {} +
COPY --from=build /out/test-targets /opt/test-targets
COPY --from=build /src/target/release/llmdbg /usr/local/bin/llmdbg
ENV LLMDBG_SANDBOX=require HOME=/scratch
USER 10001:10001
WORKDIR /scratch
ENTRYPOINT ["/usr/local/bin/llmdbg"]
