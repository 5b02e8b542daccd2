# Builds one image with all programs, which has no shell and does not run as root.

FROM rust:1.95-slim-trixie AS chef
RUN cargo install cargo-chef --locked --version 0.1.78
WORKDIR /src

# The recipe lists the dependencies. It changes with the manifests, but not with the code.
FROM chef AS plan
COPY . .
RUN cargo chef prepare --recipe-path recipe.json

FROM chef AS build
# The packages whose programs are in the image.
ARG PACKAGES="--package auth-service --package posts-service --package gateway --package rolegate"
COPY --from=plan /src/recipe.json recipe.json
# This layer is cached until a dependency changes. The shell must split PACKAGES into words.
# hadolint ignore=SC2086
RUN cargo chef cook --release --locked --recipe-path recipe.json $PACKAGES
COPY . .
# --version prints this commit: --build-arg GIT_COMMIT=$(git rev-parse --short=12 HEAD).
ARG GIT_COMMIT=
# hadolint ignore=SC2086
RUN cargo build --release --locked --bins $PACKAGES \
    && mkdir /programs /folder \
    && find target/release -maxdepth 1 -type f -executable -exec cp {} /programs/ \;

# This image has the glibc of the same Debian version as the build, and the user 65532.
FROM gcr.io/distroless/cc-debian13:nonroot
# A new named volume gets the owner of the directory over which it is mounted.
COPY --from=build --chown=65532:65532 /folder /secrets
COPY --from=build --chown=65532:65532 /folder /database-secrets
COPY --from=build --chown=65532:65532 /folder /data
COPY --from=build /programs/ /usr/local/bin/
USER 65532:65532
# These addresses replace loopback, which nobody outside the container reaches. gRPC stays on loopback unless its
# address is set.
ENV BEARER_LISTEN_ADDR=0.0.0.0:8000 BASIC_LISTEN_ADDR=0.0.0.0:8001 DATA_DIR=/data
EXPOSE 8000 8001
CMD ["rolegate"]
