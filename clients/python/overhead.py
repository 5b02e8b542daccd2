"""Measures what `require("author")` costs a FastAPI endpoint: ``overhead.py`` beside a running auth-service.

Needs AUTH_SERVICE_URL, the access token of an author in TOKEN, and wrk. uvicorn has core 0 for itself; wrk and
the service share the others. Rounds of both endpoints alternate; ratios are those of medians. The time of uvicorn's
process for a request says the same on a machine that is busy otherwise. With GC_THRESHOLD, the service sets that
threshold of Python's garbage collector, which otherwise runs whenever many requests wait at once.
"""

import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDS, SECONDS, CONNECTIONS = 7, 5, 64
SERVICE = """
import gc
import os
from typing import Annotated

from fastapi import Depends, FastAPI
from rolegate.fastapi import require

app = FastAPI()
if "GC_THRESHOLD" in os.environ:
    gc.set_threshold(int(os.environ["GC_THRESHOLD"]))

@app.get("/open")
async def open_endpoint() -> dict[str, str]:
    return {"message": "Hello"}

@app.get("/protected", dependencies=[Depends(require("author"))])
async def protected_endpoint() -> dict[str, str]:
    return {"message": "Hello"}
"""


def cpu_seconds(process):
    """The time of a process on its core, with that of all threads."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(process, url):
    """Requests a second, and microseconds of the core for each; every response must be 200."""
    header = f"authorization: Bearer {os.environ['TOKEN']}"
    wrk = ["taskset", "-c", f"1-{os.cpu_count() - 1}", "wrk", "-t1", f"-c{CONNECTIONS}"]
    command = [*wrk, f"-d{SECONDS}s", "-H", header, url]
    before = cpu_seconds(process)
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    used = cpu_seconds(process) - before
    assert "Non-2xx" not in output and "Socket errors" not in output, output
    requests = int(re.search(r"(\d+) requests in", output)[1])
    return float(re.search(r"Requests/sec: +([\d.]+)", output)[1]), 1e6 * used / requests


def main():
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "service.py").write_text(SERVICE)
        uvicorn = [sys.executable, "-m", "uvicorn", "service:app", "--port", "8765"]
        quiet = ["--no-access-log", "--log-level", "info"]
        command = ["taskset", "-c", "0", *uvicorn, *quiet]
        process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
        try:
            while "running on" not in process.stderr.readline():
                assert process.poll() is None
            rates = {"open": [], "protected": []}
            for _ in range(ROUNDS + 1):
                for name, measured in rates.items():
                    measured.append(measure(process, f"http://127.0.0.1:8765/{name}"))
        finally:
            process.kill()
    medians = {}
    for name, measured in rates.items():
        # The first round warms up.
        rate, cpu = (sorted(values) for values in zip(*measured[1:]))
        medians[name] = statistics.median(rate), statistics.median(cpu)
        spread = f"{rate[0]:.0f} to {rate[-1]:.0f}"
        print(f"{name:<10} {medians[name][0]:6.0f} requests/s ({spread}), {medians[name][1]:.0f} us each")
    (open_rate, open_cpu), (rate, cpu) = medians["open"], medians["protected"]
    print(f"ratio      {rate / open_rate:.2f} of the rate, {open_cpu / cpu:.2f} by the time of the core")


main()
