"""The user in the headers of a proxy that asked Rolegate, believed only from the addresses of proxies.

`rolegate.fastapi`, `rolegate.asgi`, `rolegate.django` and `rolegate.flask` use it.
"""

from __future__ import annotations

import logging
import re
import time
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from .auth.v1 import auth_pb2 as pb
from .errors import NotAuthenticated, RoleInsufficient, RolegateError
from .user import RoleName, User, role_of

Address = Union[IPv4Address, IPv6Address]
Network = Union[IPv4Network, IPv6Network]

_ID, _USERNAME, _ROLE = "rolegate-user-id", "rolegate-username", "rolegate-role"
#: What Rolegate leaves as it is in a name, and the bytes that it encodes.
_ENCODED = re.compile(r"(?:[ -$&-*\--~]|%[0-9A-Fa-f]{2})+")
_USER_ID = re.compile(r"[1-9][0-9]{0,18}")
_MAX_ID = 2**63 - 1
#: Names of headers from which servers and middleware take another address for that of the socket.
_FORWARDED = re.compile(r"forwarded|real-ip|client-ip|connecting-ip")
_LOG = logging.getLogger("rolegate")
#: Until when each problem is not logged again; there are few.
_LOGGED: Dict[str, float] = {}


class IdentityRefused(RolegateError):
    """The request did not come from a proxy of the list, or what says so cannot be believed."""

    status, detail = 403, "The request did not come through the proxy."
    reason = "IDENTITY_REFUSED"


class ProxyIdentity:
    """Reads the user of a request from the headers of the proxies at ``peers``.

    ``peers`` are addresses or networks, such as ``["127.0.0.1", "10.1.0.0/16"]``, from which the proxies connect.
    Whoever can connect from there can be any user. With ``roles``, the user must have one of them.
    """

    def __init__(self, peers: Iterable[str], *roles: RoleName) -> None:
        if isinstance(peers, str):
            raise TypeError("peers must be a list of addresses and networks")
        self.networks = [_network(peer) for peer in peers]
        if not self.networks:
            raise ValueError("peers must name the addresses of the proxies")
        self.roles = roles

    def of_asgi(self, scope: Mapping[str, Any], receive: Any = None) -> User:
        """The user of a request or WebSocket of ASGI. With ``receive``, uvicorn's own socket is asked."""
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        client = scope.get("client")
        host, port = (client[0], client[1]) if client else (None, None)
        transport = getattr(getattr(receive, "__self__", None), "transport", None)
        own = transport.get_extra_info("peername") if transport is not None else None
        return self._user(headers, host, port, own)

    def of_wsgi(self, environ: Mapping[str, Any]) -> User:
        """The user of a request of WSGI. The sockets of gunicorn and Werkzeug are asked where there is one."""
        headers = [
            (name[5:].replace("_", "-").lower(), value)
            for name, value in environ.items()
            if name.startswith("HTTP_") and isinstance(value, str)
        ]
        before = environ.get("werkzeug.proxy_fix.orig", {}).get("REMOTE_ADDR")
        host, port = environ.get("REMOTE_ADDR"), environ.get("REMOTE_PORT")
        if before is not None and before != host:
            raise _refused(_REWRITTEN)
        socket = environ.get("gunicorn.socket") or environ.get("werkzeug.socket")
        try:
            own = socket.getpeername() if socket is not None else None
        except OSError:
            raise _refused(_UNKNOWN) from None
        return self._user(headers, host, port, own)

    def _user(
        self, headers: Sequence[Tuple[str, str]], host: Any, port: Any, own: Optional[Any]
    ) -> User:
        peer = _address(host)
        if peer is None:
            raise _refused(_UNKNOWN)
        is_rewritten = _may_be_rewritten(peer, port, headers) if own is None else not _is(own, peer, port)
        if is_rewritten:
            raise _refused(_REWRITTEN)
        if not any(peer in network for network in self.networks):
            # A server that believes the proxy shows the address of the browser here.
            raise _refused(_NOT_LISTED, peer)
        user = _user_of(headers)
        if self.roles and user.role not in self.roles:
            raise RoleInsufficient
        return user


_TURN_OFF = "turn off what takes addresses from X-Forwarded-For, in uvicorn by --no-proxy-headers"
_UNKNOWN = "the address of the connection is unknown, as that of a Unix socket; let the proxy use TCP"
_REWRITTEN = f"the address of the connection may have been replaced; {_TURN_OFF}"
_NOT_LISTED = f"its address is not in the list of proxies; if it is that of a browser, {_TURN_OFF}"


def _network(text: str) -> Network:
    if not isinstance(text, str):
        raise TypeError("a peer must be an address or a network")
    network = ip_network(text, strict=False)
    if isinstance(network, IPv6Network) and network.network_address.ipv4_mapped is not None:
        raise ValueError(f"{text} never matches, because IPv4 addresses count as such")
    if network.prefixlen == 0:
        raise ValueError(f"{text} is everybody")
    return network


def _address(text: Any) -> Optional[Address]:
    """An IPv4-mapped address, as of sockets for both versions, is the IPv4 address."""
    try:
        address = ip_address(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _is(own: Any, peer: Address, port: Any) -> bool:
    """Whether the address that the server shows is that of its socket."""
    is_tcp = isinstance(own, tuple) and len(own) >= 2
    return is_tcp and _address(own[0]) == peer and port in (None, own[1], str(own[1]))


def _may_be_rewritten(peer: Address, port: Any, headers: Sequence[Tuple[str, str]]) -> bool:
    """Whether a server or middleware may have taken the address from a header.

    Servers that do so set no port, 0, or one that the header has. Whoever can reach the server could send the address
    of a proxy, so an address that any such header has is not believed.
    """
    if port is not None and str(port) in ("", "0"):
        return True
    for name, value in headers:
        if _FORWARDED.search(name):
            for part in re.split(r"[,;=\s\"]+", value):
                bare = re.sub(r"^\[(.*)\](:\d+)?$", r"\1", part)
                if peer in (_address(bare), _address(bare.rpartition(":")[0])):
                    return True
    return False


def _user_of(headers: Sequence[Tuple[str, str]]) -> User:
    found: Dict[str, List[str]] = {_ID: [], _USERNAME: [], _ROLE: []}
    for name, value in headers:
        if name.lower() in found:
            found[name.lower()].append(value)
    if not any(found.values()):
        raise NotAuthenticated
    try:
        [[user_id], [username], [role]] = found.values()
    except ValueError:
        raise _refused("a header of the identity is missing, or there are several of it") from None
    if not _USER_ID.fullmatch(user_id) or int(user_id) > _MAX_ID:
        raise _refused("Rolegate-User-Id is no id")
    try:
        return User(int(user_id), _decoded(username), role_of(role, pb.ROLE_UNSPECIFIED))
    except RolegateError:
        raise _refused("Rolegate-Role is no role") from None


def _decoded(name: str) -> str:
    """A name as the user has typed it. Several values are joined by ``,``, which Rolegate encodes."""
    if not _ENCODED.fullmatch(name):
        raise _refused("Rolegate-Username is empty, or not as Rolegate encodes it")
    raw = re.sub(rb"%(..)", lambda match: bytes([int(match[1], 16)]), name.encode("ascii"))
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise _refused("Rolegate-Username is not UTF-8") from None


def _refused(problem: str, peer: Optional[Address] = None) -> IdentityRefused:
    """Logs why, once a minute for each problem, for the operator; the response does not say it."""
    now = time.monotonic()
    if now >= _LOGGED.get(problem, now):
        _LOGGED[problem] = now + 60
        origin = "" if peer is None else f"; it came from {peer}"
        _LOG.warning("refused a request with the identity of a proxy: %s%s", problem, origin)
    return IdentityRefused(problem)
