"""Reads the promises of docs/guarantees.md, each with its tests and its mutants, for tests/prove and
tests/mutants/run."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The end-to-end tests start programs of these packages, and the features are those of tests/run. `cargo test` builds the
# programs of e2e.
PROGRAMS = ["auth-service", "gateway", "posts-service", "rolegate", "rolegate-test-server"]
BUILD = "cargo build --workspace --all-features --locked".split()
BUILD += [word for name in PROGRAMS for word in ("--bin", name)]
TEST = "cargo test --workspace --all-features --locked".split()


@dataclass
class Promise:
    name: str
    sentence: str
    tests: list
    mutants: list

    def commands(self):
        """Yields the command for each file of tests. It runs the whole target if the file is its root, and otherwise
        the tests of the file's module."""
        for path in map(Path, self.tests):
            if path.parts[1] == "specifications":
                yield [*TEST, "--test", path.stem, "--", "--show-output", "--include-ignored"]
            else:
                module = [] if path.stem == "main" else [path.stem + "::"]
                yield [*TEST, "--test", path.parts[1], "--", "--show-output", *module]


def promises():
    """Returns the promises in the table, and fails if one has no test or a mutant has no promise."""
    found = []
    for line in (ROOT / "docs/guarantees.md").read_text().splitlines():
        row = re.match(r"\| \*\*([a-z-]+)\*\*: ([^|]+) \|([^|]+)\|[^|]+\|([^|]+)\|$", line)
        if row:
            name, sentence, tests, mutants = row.groups()
            tests = re.findall(r"\(\.\./(tests/[^)]+\.rs)\)", tests)
            mutants = re.findall(r"\(\.\./tests/mutants/([^)]+)\.toml\)", mutants)
            found.append(Promise(name, sentence, tests, mutants))
        elif line.startswith("| **"):
            raise SystemExit(f"docs/guarantees.md: a row of another form: {line}")
    for promise in found:
        if not promise.tests or not all((ROOT / test).is_file() for test in promise.tests):
            raise SystemExit(f"docs/guarantees.md: {promise.name} has no test, or one that is not there")
    mutants = sorted(mutant for promise in found for mutant in promise.mutants)
    if mutants != sorted(fault.stem for fault in (ROOT / "tests/mutants").glob("*.toml")):
        raise SystemExit("docs/guarantees.md does not name each of tests/mutants/*.toml once")
    return found


def tests_to_build(wanted):
    """Returns the command that builds the tests of these promises."""
    targets = {command[command.index("--test") + 1] for promise in wanted for command in promise.commands()}
    return [*TEST, "--no-run", *(word for target in sorted(targets) for word in ("--test", target))]


def run(command, log, **options):
    """Runs a command, which also writes to the log; returns whether it succeeded."""
    with log.open("a") as file:
        return subprocess.run(command, stdout=file, stderr=file, check=False, **options).returncode == 0
