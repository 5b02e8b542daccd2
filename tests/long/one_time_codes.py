"""One-time codes of RFC 6238, as an application on a phone shows them: SHA-1, six digits, 30 seconds."""

import base64
import hmac
import time

SECONDS = 30


class Phone:
    """An application for one-time codes."""

    def __init__(self, secret):
        self.secret = base64.b32decode(secret)
        self.used = 0

    def code(self):
        """A new one each time: a step is good once. The next step is accepted before its time."""
        now = lambda: int(time.time()) // SECONDS
        self.used = max(self.used + 1, now())
        while self.used > now() + 1:
            time.sleep(0.5)
        digest = hmac.digest(self.secret, self.used.to_bytes(8, "big"), "sha1")
        start = digest[-1] & 15
        return f"{(int.from_bytes(digest[start:start + 4], 'big') & 0x7FFFFFFF) % 1_000_000:06}"
