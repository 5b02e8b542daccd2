"""The address of auth-service, and the options of channels to it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Optional
from urllib.parse import urlsplit

import grpc
import grpc.aio

SERVICE = "rolegate.auth.v1.AuthService"

#: Calls go to the healthy replicas in turn. No configuration in DNS and no proxy of the environment may change that.
OPTIONS = [
    (
        "grpc.service_config",
        json.dumps(
            {
                "loadBalancingConfig": [{"round_robin": {}}],
                "healthCheckConfig": {"serviceName": SERVICE},
            }
        ),
    ),
    ("grpc.service_config_disable_resolution", 1),
    ("grpc.enable_http_proxy", 0),
    # Password calls have connections of their own, because a flood of logins delays all calls on its connections.
    ("grpc.use_local_subchannel_pool", 1),
    # The client connects to a new replica, or to one that comes back, after at most this time.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    ("grpc.dns_min_time_between_resolutions_ms", 2_000),
    # Pings detect dead peers.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.http2.max_pings_without_data", 0),
]


@dataclass(frozen=True)
class Tls:
    """The PEM files of TLS connections. They are read once, when the client is created."""

    ca_file: str
    cert_file: Optional[str] = None
    key_file: Optional[str] = None

    def credentials(self) -> grpc.ChannelCredentials:
        """Returns the credentials of a channel. Raises ``OSError`` if a file cannot be read."""
        ca, cert, key = (
            Path(file).read_bytes() if file else None
            for file in (self.ca_file, self.cert_file, self.key_file)
        )
        return grpc.ssl_channel_credentials(ca, key, cert)


@dataclass(frozen=True)
class Address:
    """The address of auth-service."""

    target: str
    credentials: Optional[grpc.ChannelCredentials]

    @classmethod
    def parse(cls, url: str, tls: Optional[Tls]) -> Address:
        """Parses a URL with host and port. Its scheme must be ``https`` with ``tls``, and ``http`` without. Raises
        ``ValueError`` for any other URL."""
        scheme = "https" if tls else "http"
        parts = urlsplit(url)
        is_plain = parts.path in ("", "/") and not (parts.query or parts.fragment)
        has_user = "@" in parts.netloc
        if parts.scheme != scheme or not (parts.hostname and parts.port) or has_user or not is_plain:
            # The message does not contain the URL, which may contain a password.
            message = f"the URL must be {scheme}://, a host and a port, such as"
            because = "" if tls else " (https:// needs tls)"
            raise ValueError(f"{message} {scheme}://auth-service:50051{because}")
        return cls(f"dns:///{parts.netloc}", tls.credentials() if tls else None)

    @classmethod
    def from_env(cls) -> Address:
        """Reads the address from the variables of Rolegate's programs: ``AUTH_SERVICE_URL``,
        ``AUTH_CLIENT_TLS_{CA,CERT,KEY}_FILE``."""
        url = os.environ.get("AUTH_SERVICE_URL", "http://127.0.0.1:50051")
        ca, cert, key = (
            os.environ.get(f"AUTH_CLIENT_TLS_{name}_FILE") for name in ("CA", "CERT", "KEY")
        )
        return cls.parse(url, Tls(ca, cert, key) if ca else None)

    def channel(self) -> grpc.Channel:
        """Returns a channel for threads, which connects in the background."""
        if self.credentials:
            return grpc.secure_channel(self.target, self.credentials, OPTIONS)
        return grpc.insecure_channel(self.target, OPTIONS)

    def async_channel(self) -> grpc.aio.Channel:
        """Returns a channel for the running event loop, which connects in the background."""
        if self.credentials:
            return grpc.aio.secure_channel(self.target, self.credentials, OPTIONS)
        return grpc.aio.insecure_channel(self.target, OPTIONS)
