# One image with all programs, without a shell, for a user other than root.

FROM rust:1.95-slim-trixie AS chef
RUN cargo install cargo-chef --locked --version 0.1.78
WORKDIR /src

# The recipe changes with the manifests, not with the code.
FROM chef AS plan
COPY . .
RUN cargo chef prepare --recipe-path recipe.json

FROM chef AS build
# The programs of the image.
ARG PACKAGES="--package auth-service --package posts-service --package gateway --package rolegate"
COPY --from=plan /src/recipe.json recipe.json
# This layer is cached until a dependency changes. PACKAGES must be split into words.
# hadolint ignore=SC2086
RUN cargo chef cook --release --locked --recipe-path recipe.json $PACKAGES
COPY . .
# The commit, for --version: --build-arg GIT_COMMIT=$(git rev-parse --short=12 HEAD).
ARG GIT_COMMIT=
# hadolint ignore=SC2086
RUN cargo build --release --locked --bins $PACKAGES \
    && mkdir /programs /folder \
    && find target/release -maxdepth 1 -type f -executable -exec cp {} /programs/ \;

# glibc of the build's Debian version; user 65532.
FROM gcr.io/distroless/cc-debian13:nonroot
# A new named volume takes the owner of the directory that it covers.
COPY --from=build --chown=65532:65532 /folder /secrets
COPY --from=build --chown=65532:65532 /folder /database-secrets
COPY --from=build --chown=65532:65532 /folder /data
COPY --from=build /programs/ /usr/local/bin/
USER 65532:65532
# Loopback is unreachable from outside a container. gRPC stays on loopback unless it is configured.
ENV BEARER_LISTEN_ADDR=0.0.0.0:8000 BASIC_LISTEN_ADDR=0.0.0.0:8001 DATA_DIR=/data
EXPOSE 8000 8001
CMD ["rolegate"]
