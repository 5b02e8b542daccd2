#!/usr/bin/env python3
"""Exits with 0 if the server at HOST PORT keeps at most 1,000 unfinished requests of one client."""

import resource
import socket
import sys
import time

LIMIT, SOCKETS = 1000, 1100
host, port = sys.argv[1], int(sys.argv[2])
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))


def connect():
    connection = socket.create_connection((host, port), timeout=5)
    connection.sendall(b"GET / HT")
    connection.setblocking(False)
    return connection


def is_open(connection):
    try:
        return connection.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def connect_or_none():
    try:
        return connect()
    except OSError:
        return None


connections = [it for it in (connect_or_none() for _ in range(SOCKETS)) if it]
# After a second, no connection has timed out yet, because the request timeout of the balancer is 10 seconds.
time.sleep(1)
kept = sum(is_open(it) for it in connections)
print(f"{kept} of {SOCKETS} connections are open")
sys.exit(not 0 < kept <= LIMIT)
