"""Computes one-time codes of RFC 6238 as an application on a phone does, with SHA-1, six digits and steps of 30
seconds."""

import base64
import hmac
import time

SECONDS = 30


class Phone:
    """An application for one-time codes with one secret."""

    def __init__(self, secret):
        self.secret = base64.b32decode(secret)
        self.used = 0

    def code(self):
        """Returns a new code with each call, because the code of a step is accepted only once. The code of the next
        step is accepted before its time."""
        now = lambda: int(time.time()) // SECONDS
        self.used = max(self.used + 1, now())
        while self.used > now() + 1:
            time.sleep(0.5)
        digest = hmac.digest(self.secret, self.used.to_bytes(8, "big"), "sha1")
        start = digest[-1] & 15
        return f"{(int.from_bytes(digest[start:start + 4], 'big') & 0x7FFFFFFF) % 1_000_000:06}"
