# One image with every program of Rolegate, for a user who is not root, without a shell.

FROM rust:1.95-slim-bookworm AS chef
RUN cargo install cargo-chef --locked --version 0.1.78
WORKDIR /src

# What has to be built before our own code: changes with the manifests, not with the code.
FROM chef AS plan
COPY . .
RUN cargo chef prepare --recipe-path recipe.json

FROM chef AS build
# The programs of the image.
ARG PACKAGES="--package auth-service --package posts-service --package gateway --package rolegate"
COPY --from=plan /src/recipe.json recipe.json
# The layer that is kept as long as no dependency changes. PACKAGES is several words.
# hadolint ignore=SC2086
RUN cargo chef cook --release --locked --recipe-path recipe.json $PACKAGES
COPY . .
# hadolint ignore=SC2086
RUN cargo build --release --locked --bins $PACKAGES \
    && mkdir /programs /folder \
    && find target/release -maxdepth 1 -type f -executable -exec cp {} /programs/ \;

# glibc, of the same Debian as the build; user 65532.
FROM gcr.io/distroless/cc-debian12:nonroot
# A new named volume takes the owner of the folder that it covers.
COPY --from=build --chown=65532:65532 /folder /secrets
COPY --from=build --chown=65532:65532 /folder /database-secrets
COPY --from=build --chown=65532:65532 /folder /data
COPY --from=build /programs/ /usr/local/bin/
USER 65532:65532
# In a container loopback is nobody. The ports for other services stay closed unless they are set.
ENV BEARER_LISTEN_ADDR=0.0.0.0:8000 BASIC_LISTEN_ADDR=0.0.0.0:8001 DATA_DIR=/data
EXPOSE 8000 8001
CMD ["rolegate"]
