"""Follows docs/tutorials/three-replicas.md as it is written."""

import random
import shutil
import socket

from stage import PROGRAM, Stage

REPLICAS = (1, 2, 3)


def check():
    with Stage("tutorials/three-replicas.md", 8000, 5433, others=replicas(), user="postgres") as stage:
        release = stage.folder / "target/release"
        release.mkdir(parents=True)
        shutil.copy(PROGRAM, release / "rolegate")
        stage.type()
        answers = (stage.folder / "replicas/answers").read_text().split()
        assert set(answers) == {"200"} and len(answers) >= 100, len(answers)


def replicas():
    """Returns the replacements of ports. In some places, the page has only the first digits of a port, and the number
    of the replica follows."""
    (bearer, ops), found = free_tens(), {}
    for name, prefix in [(801, bearer), (901, ops)]:
        found |= {name: prefix} | {name * 10 + it: prefix * 10 + it for it in REPLICAS}
    return found


def free_tens():
    """Returns two numbers that give free ports with the digit of each replica."""
    tens = (it for it in random.sample(range(1_000, 2_000), 1_000) if not any(is_open(it * 10 + n) for n in REPLICAS))
    return next(tens), next(tens)


def is_open(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
