# The command `accp`, as a hub. docs/operations.md says how to run it.
#
#     docker build -t accp .
FROM rust:1-slim-bookworm AS build
WORKDIR /accp
COPY . .
RUN cargo build --release --locked --package accp-cli --features otel --bin accp \
    && install -D --mode=0755 target/release/accp /image/usr/local/bin/accp \
    # The folder gives the volume its owner.
    && install --directory --mode=0700 --owner=65532 --group=65532 /image/data

# No shell, no package manager: the C library and the certificates of authorities.
FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build --chown=root:root /image/usr/ /usr/
COPY --from=build --chown=65532:65532 /image/data/ /data/
USER 65532:65532
WORKDIR /data
VOLUME ["/data"]
# Other machines may reach a container, so without ACCP_TOKENS or ACCP_JWKS the hub refuses to start.
ENV ACCP_STORE=/data/hub.accp ACCP_LISTEN=0.0.0.0:7337
EXPOSE 7337
STOPSIGNAL SIGTERM
# `accp ready` asks ACCP_HUB. With TLS in the hub, that is a URL with the name in the certificate. ACCP_AUTHORITY names the file
# of an authority that browsers do not know.
HEALTHCHECK --interval=30s --timeout=6s --start-period=5s CMD ["accp", "ready"]
ENTRYPOINT ["accp"]
CMD ["serve"]
