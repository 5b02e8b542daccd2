"""Measures when the cluster, and each gateway, work again after a failover."""

import os
import subprocess
import threading
import time
import urllib.request

# Each statement waits on the server for what its name says. It may begin before the promotion.
OUT_OF_RECOVERY = "DO $$BEGIN WHILE pg_is_in_recovery() LOOP PERFORM pg_sleep(0.01); END LOOP; END$$"
STANDBY_STREAMS = """DO $$BEGIN
    WHILE NOT EXISTS (SELECT FROM pg_stat_get_wal_senders() AS sender
                      WHERE sender.state = 'streaming' AND sender.sync_state IN ('sync', 'quorum'))
    LOOP PERFORM pg_sleep(0.01); END LOOP; END$$"""
# Returns a row when a synchronous standby has written the commit. The row is empty if no standby is configured.
COMMIT = """SET synchronous_commit = remote_write;
    SELECT CASE WHEN current_setting('synchronous_standby_names') <> ''
        THEN pg_logical_emit_message(true, 'failover', '') END"""


class Resumption:
    """Measures when a new primary and the gateways worked again, in seconds of `time.monotonic`.

    `moments` has `out_of_recovery`, `standby_streams` and `commit` of the new primary, and the first decision of each
    gateway by its name.
    """

    def __init__(self, programs, address, gateways, token):
        self.psql = [str(programs / "psql"), "-qAtX", "-h", address, "-U", "postgres", "-d", "postgres", "-c"]
        self.moments = {}
        # Only a decision whose request began after this event counts, because the former primary may answer until then.
        self.promoted = threading.Event()
        self.threads = [threading.Thread(target=self.watch_primary, daemon=True)]
        self.threads += [threading.Thread(target=self.watch_gateway, args=(name, url, token), daemon=True)
                         for name, url in gateways.items()]
        for thread in self.threads:
            thread.start()

    def wait(self, seconds):
        """Waits for so many seconds, and returns whether everything was measured by then."""
        end = time.monotonic() + seconds
        for thread in self.threads:
            thread.join(max(0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in self.threads)

    def watch_primary(self):
        self.note_when("out_of_recovery", lambda: self.query(OUT_OF_RECOVERY) is not None)
        self.promoted.set()
        streams = threading.Thread(
            target=self.note_when, daemon=True,
            args=("standby_streams", lambda: self.query(STANDBY_STREAMS) is not None))
        streams.start()
        self.note_when("commit", lambda: self.query(COMMIT))
        streams.join()

    def watch_gateway(self, name, url, token):
        self.promoted.wait()
        request = urllib.request.Request(f"{url}/profile")
        request.add_header("Authorization", f"Bearer {token}")

        def is_decided():
            try:
                with urllib.request.urlopen(request, timeout=0.3) as answer:
                    return answer.status == 200
            except OSError:
                return False

        self.note_when(name, is_decided)

    def note_when(self, name, poll):
        while not poll():
            time.sleep(0.02)
        self.moments[name] = time.monotonic()

    def query(self, sql):
        """Returns the answer of the new primary, or `None` if the statement failed."""
        env = os.environ | {"PGPASSWORD": "postgres", "PGCONNECT_TIMEOUT": "2"}
        ended = subprocess.run([*self.psql, sql], env=env, capture_output=True, text=True)
        return ended.stdout.strip() if ended.returncode == 0 else None
