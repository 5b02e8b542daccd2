"""Measures what `require("author")` costs a FastAPI endpoint. Run it as ``overhead.py`` beside a running auth-service.

It needs AUTH_SERVICE_URL, the access token of an author in TOKEN, and wrk. The service has core 0 for itself, and wrk
and auth-service share the others. One service has the threshold of the garbage collector that README.md recommends.
The other has Python's own threshold, with which the collector runs whenever many requests wait at once.

Rounds of both services and of both endpoints alternate, and ratios are those of medians. On a busy machine, the CPU
time of the process for a request is more reliable than the rate.
"""

import gc
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDS, SECONDS, CONNECTIONS = 7, 3, 64
#: The thresholds of the garbage collector, in objects: the one that README.md recommends, and the default of Python.
THRESHOLDS = 10_000, gc.get_threshold()[0]
SERVICE = """
import gc
import os
from typing import Annotated

from fastapi import Depends, FastAPI
from rolegate.fastapi import require

app = FastAPI()
gc.set_threshold(int(os.environ["GC_THRESHOLD"]))

@app.get("/open")
async def open_endpoint() -> dict[str, str]:
    return {"message": "Hello"}

@app.get("/protected", dependencies=[Depends(require("author"))])
async def protected_endpoint() -> dict[str, str]:
    return {"message": "Hello"}
"""


def cpu_seconds(process):
    """Returns the CPU time of all threads of a process."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(process, url):
    """Returns the requests per second, and the CPU time of one in microseconds. Every response must be 200."""
    header = f"authorization: Bearer {os.environ['TOKEN']}"
    wrk = ["taskset", "-c", f"1-{os.cpu_count() - 1}", "wrk", "-t1", f"-c{CONNECTIONS}"]
    command = [*wrk, f"-d{SECONDS}s", "-H", header, url]
    before = cpu_seconds(process)
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    used = cpu_seconds(process) - before
    assert "Non-2xx" not in output and "Socket errors" not in output, output
    requests = int(re.search(r"(\d+) requests in", output)[1])
    return float(re.search(r"Requests/sec: +([\d.]+)", output)[1]), 1e6 * used / requests


def start(folder, threshold):
    """Starts the service, and returns its process and its URL."""
    uvicorn = [sys.executable, "-m", "uvicorn", "service:app", "--port", "0"]
    command = ["taskset", "-c", "0", *uvicorn, "--no-access-log", "--log-level", "info"]
    env = {**os.environ, "GC_THRESHOLD": str(threshold)}
    process = subprocess.Popen(command, cwd=folder, env=env, stderr=subprocess.PIPE, text=True)
    while "running on" not in (line := process.stderr.readline()):
        assert process.poll() is None
    return process, re.search(r"http://\S+", line)[0]


def main():
    services, rates = [], {}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "service.py").write_text(SERVICE)
        try:
            for threshold in THRESHOLDS:
                services.append((threshold, *start(folder, threshold)))
            for _ in range(ROUNDS + 1):
                for threshold, process, url in services:
                    for name in ("open", "protected"):
                        measured = measure(process, f"{url}/{name}")
                        rates.setdefault((threshold, name), []).append(measured)
        finally:
            for _, process, _ in services:
                process.kill()
    for threshold in THRESHOLDS:
        print(f"gc.set_threshold({threshold})")
        medians = []
        for name in ("open", "protected"):
            # The first round only warms up, so it is left out.
            rate, cpu = (sorted(values) for values in zip(*rates[threshold, name][1:]))
            medians.append((statistics.median(rate), statistics.median(cpu)))
            spread = f"{rate[0]:.0f} to {rate[-1]:.0f}"
            print(f"  {name:<10} {medians[-1][0]:6.0f} requests/s ({spread}), {medians[-1][1]:.0f} us each")
        (open_rate, open_cpu), (rate, cpu) = medians
        print(f"  ratio      {rate / open_rate:.2f} of the rate, {open_cpu / cpu:.2f} by the time of the core")


main()
