"""A terminal in which the commands of a page are typed."""

import queue
import re
import signal
import subprocess
import threading
import time
from pathlib import Path

from blocks import pattern

# The seconds to wait for output, because pip, npm and a browser may be slow.
DEADLINE = 300
END = "end of the commands:"


class Terminal:
    """A shell that keeps its variables, and the lines that it prints."""

    def __init__(self, folder, environment, **owner):
        self.shell = subprocess.Popen(["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      cwd=folder, env=environment, text=True, **owner)
        self.lines, self.is_busy = queue.Queue(), False
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.shell.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def type(self, commands, printed=None):
        """Runs commands, and checks that they succeed and print this."""
        self.send(commands)
        output, status = self.until_end()
        assert status == 0, f"{status} after\n{commands}{output}"
        assert printed is None or pattern(printed).fullmatch(output.strip()), f"{commands}{output}is not\n{printed}"

    def start(self, commands, printed):
        """Starts commands that keep running, and waits until they have printed this."""
        self.send(commands)
        self.is_busy, output, wanted = True, "", pattern(printed)
        while not wanted.search(output):
            line = self.next_line(f"{commands}{output}")
            assert END not in line, f"it ended:\n{commands}{output}"
            output += line

    def send(self, commands):
        assert not self.is_busy, f"another command runs in the terminal of\n{commands}"
        # The failure of any command counts, not only that of the last one.
        self.shell.stdin.write(f"failed=0; trap 'failed=$?' ERR\n{{ {commands}\n}} </dev/null\necho '{END}' $failed\n")
        self.shell.stdin.flush()

    def until_end(self):
        output = ""
        while True:
            line = self.next_line(output)
            if found := re.match(f"(.*){END} ([0-9]+)", line):
                return output + found[1], int(found[2])
            output += line

    def next_line(self, what):
        try:
            line = self.lines.get(timeout=DEADLINE)
        except queue.Empty:
            raise AssertionError(f"nothing more is printed after\n{what}") from None
        assert line is not None, f"the terminal was closed:\n{what}"
        return line

    def interrupt(self, number=signal.SIGINT):
        """Sends Ctrl-C, or another signal, to what runs in the terminal."""
        children = Path(f"/proc/{self.shell.pid}/task/{self.shell.pid}/children").read_text().split()
        assert self.is_busy and children, "nothing runs"
        for child in children:
            subprocess.run(["kill", f"-{int(number)}", child], check=True)
        self.until_end()
        self.is_busy = False


def end_all_in(folder):
    """Ends the processes that work in a folder. The first signal is not SIGKILL, because that would leave the workers
    of nginx behind."""
    end = time.monotonic() + 20
    while found := list(processes_in(folder)):
        for process in found:
            subprocess.run(["kill", "-TERM" if time.monotonic() < end else "-KILL", process], stderr=subprocess.DEVNULL)
        time.sleep(0.1)


def processes_in(folder):
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and (process / "cwd").readlink().is_relative_to(folder):
                if ") Z" not in (process / "stat").read_text():
                    yield process.name
        except OSError:
            """The process has ended, or belongs to another user."""
