"""Reads the user from the headers of a proxy that has asked Rolegate. The headers count only if the connection comes
from an address of the proxies.

Use it through `rolegate.fastapi`, `rolegate.asgi`, `rolegate.django` or `rolegate.flask`.
"""

from __future__ import annotations

import logging
import re
import time
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from ._calls import Groups, names_of
from .auth.v1 import auth_pb2 as pb
from .errors import NotAuthenticated, RoleInsufficient, RolegateError
from .user import RoleName, User, is_name, role_of

Address = Union[IPv4Address, IPv6Address]
Network = Union[IPv4Network, IPv6Network]

_ID, _USERNAME, _ROLE = "rolegate-user-id", "rolegate-username", "rolegate-role"
_GROUPS = "rolegate-groups"
#: A username as Rolegate encodes it: unencoded characters and percent-encoded bytes.
_ENCODED = re.compile(r"(?:[ -$&-*\--~]|%[0-9A-Fa-f]{2})+")
_USER_ID = re.compile(r"[1-9][0-9]{0,18}")
_MAX_ID = 2**63 - 1
#: The names of headers from which servers and middleware take an address in place of the address of the socket.
_FORWARDED = re.compile(r"forwarded|real-ip|client-ip|connecting-ip")
_LOG = logging.getLogger("rolegate")
#: The time until which each problem is not logged again. The map stays small, because there are few problems.
_LOGGED: Dict[str, float] = {}


class IdentityRefused(RolegateError):
    """The request did not come from a listed proxy, or its address or headers cannot be trusted."""

    status, detail = 403, "The request did not come through the proxy."
    reason = "IDENTITY_REFUSED"


class ProxyIdentity:
    """Reads the user of a request from the headers of the proxies at ``peers``.

    ``peers`` are the addresses or networks from which the proxies connect, such as ``["127.0.0.1", "10.1.0.0/16"]``.
    Any program that can connect from there can claim to be any user. With ``roles`` or ``groups``, the user must have
    one of the roles or be in one of the groups.
    """

    def __init__(self, peers: Iterable[str], *roles: RoleName, groups: Groups = None) -> None:
        if isinstance(peers, str):
            raise TypeError("peers must be a list of addresses and networks")
        self.networks = [_network(peer) for peer in peers]
        if not self.networks:
            raise ValueError("peers must name the addresses of the proxies")
        self.roles, self.groups = roles, names_of(groups)
        if self.groups == () and not roles:
            raise ValueError("groups must name a group")

    def of_asgi(self, scope: Mapping[str, Any], receive: Any = None) -> User:
        """Returns the user of an ASGI request or WebSocket. With ``receive``, the address of uvicorn's socket is
        checked as well."""
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        client = scope.get("client")
        host, port = (client[0], client[1]) if client else (None, None)
        transport = getattr(getattr(receive, "__self__", None), "transport", None)
        own = transport.get_extra_info("peername") if transport is not None else None
        return self._user(headers, host, port, own)

    def of_wsgi(self, environ: Mapping[str, Any]) -> User:
        """Returns the user of a WSGI request. Under gunicorn and Werkzeug, the address of the server's socket is
        checked as well."""
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
            # If the server takes addresses from the proxy's headers, the peer is the browser.
            raise _refused(_NOT_LISTED, peer)
        user = _user_of(headers)
        if (self.roles or self.groups) and not self._admits(user):
            raise RoleInsufficient
        return user

    def _admits(self, user: User) -> bool:
        return user.role in self.roles or any(group in user.groups for group in self.groups or ())


_TURN_OFF = "do not let the server take addresses from X-Forwarded-For (uvicorn: --no-proxy-headers)"
_UNKNOWN = "the address of the connection is unknown, as with a Unix socket; let the proxy use TCP"
_REWRITTEN = f"the address of the connection may have been replaced; {_TURN_OFF}"
_NOT_LISTED = f"its address is not in the list of proxies; if it is a browser's, {_TURN_OFF}"


def _network(text: str) -> Network:
    if not isinstance(text, str):
        raise TypeError("a peer must be an address or a network")
    network = ip_network(text, strict=False)
    if isinstance(network, IPv6Network) and network.network_address.ipv4_mapped is not None:
        raise ValueError(f"{text} never matches, because IPv4 peers are compared as IPv4")
    if network.prefixlen == 0:
        raise ValueError(f"{text} contains every address")
    return network


def _address(text: Any) -> Optional[Address]:
    """Parses an address. An IPv4-mapped one, which dual-stack sockets report, becomes the IPv4 address."""
    try:
        address = ip_address(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _is(own: Any, peer: Address, port: Any) -> bool:
    """Returns whether the address and the port that the server reports match ``own``, the peer of its socket."""
    is_tcp = isinstance(own, tuple) and len(own) >= 2
    return is_tcp and _address(own[0]) == peer and port in (None, own[1], str(own[1]))


def _may_be_rewritten(peer: Address, port: Any, headers: Sequence[Tuple[str, str]]) -> bool:
    """Returns whether a server or middleware may have taken the address of the peer from a header.

    A server that takes the address from a header sets no port, port 0, or the port in the header. Any client of such
    a server could send the address of a proxy in the header. An address that is also in such a header is therefore
    not trusted.
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
    found: Dict[str, List[str]] = {_ID: [], _USERNAME: [], _ROLE: [], _GROUPS: []}
    for name, value in headers:
        if name.lower() in found:
            found[name.lower()].append(value)
    groups = found.pop(_GROUPS)
    if not any(found.values()):
        raise NotAuthenticated
    try:
        [[user_id], [username], [role]] = found.values()
    except ValueError:
        raise _refused("an identity header is missing or repeated") from None
    if len(groups) > 1:
        raise _refused("an identity header is missing or repeated")
    if not _USER_ID.fullmatch(user_id) or int(user_id) > _MAX_ID:
        raise _refused("Rolegate-User-Id is not an id")
    try:
        known_role = role_of(role, pb.ROLE_UNSPECIFIED)
    except RolegateError:
        raise _refused("Rolegate-Role is not a role") from None
    # Without the header, the user has no groups, because the proxy files of the previous release send none.
    names = _group_names(groups[0] if groups else "")
    return User(int(user_id), _decoded(username), known_role, groups=names)


def _group_names(value: str) -> Tuple[str, ...]:
    """Returns the names in ``Rolegate-Groups``, in ascending order. A name that is there twice shows that several
    values were joined, because Rolegate sends each name once."""
    if value == "":
        return ()
    names = value.split(",")
    if not all(map(is_name, names)) or len(set(names)) < len(names):
        raise _refused("Rolegate-Groups is not a list of groups")
    return tuple(sorted(names))


def _decoded(name: str) -> str:
    """Decodes a username. A ``,`` shows that several values were joined, because Rolegate would encode it."""
    if not _ENCODED.fullmatch(name):
        raise _refused("Rolegate-Username is empty, or not as Rolegate encodes it")
    raw = re.sub(rb"%(..)", lambda match: bytes([int(match[1], 16)]), name.encode("ascii"))
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise _refused("Rolegate-Username is not UTF-8") from None


def _refused(problem: str, peer: Optional[Address] = None) -> IdentityRefused:
    """Returns the refusal, and logs the problem for the operator, at most once a minute. The response does not
    contain the problem."""
    now = time.monotonic()
    if now >= _LOGGED.get(problem, now):
        _LOGGED[problem] = now + 60
        origin = "" if peer is None else f"; it came from {peer}"
        _LOG.warning("refused the identity headers of a request: %s%s", problem, origin)
    return IdentityRefused(problem)
