#!/usr/bin/env python3
"""Checks that the committed code of the contracts is what the generator makes of them.

  tests/generated_code.py          checks that nothing has changed since the code was generated; tests/run lint runs it
  tests/generated_code.py compare  generates the code and compares it with the committed code; tests/run --long runs it
  tests/generated_code.py write    generates the code anew

Building the generator takes longer than building the contracts. So `write` notes the digests of the contracts, of the
generator and of the code, and the check before a merge compares only these.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROTO = ROOT / "proto"
CODE = PROTO / "src/generated"
GENERATOR = ROOT / "tests/proto-generator"
DIGESTS = GENERATOR / "digests.txt"
WRITE = "tests/generated_code.py write generates it anew"


def digests():
    """Returns a line for each file on which the code depends, and for each file of the code."""
    contracts = [*PROTO.glob("rolegate/**/*.proto"), *PROTO.glob("envoy/**/*.proto")]
    generator = [GENERATOR / "Cargo.toml", GENERATOR / "Cargo.lock", GENERATOR / "src/main.rs"]
    files = sorted([*contracts, *generator, *CODE.iterdir()])
    lines = (f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.relative_to(ROOT)}\n" for file in files)
    return "".join(lines)


def generate(folder):
    manifest = GENERATOR / "Cargo.toml"
    target = {"CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target")) + "/generator"}
    command = ["cargo", "run", "--quiet", "--locked", "--manifest-path", str(manifest), "--", str(folder)]
    subprocess.run(command, cwd=PROTO, env=os.environ | target, check=True)


def contents(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def write():
    for file in CODE.iterdir():
        file.unlink()
    generate(CODE)
    DIGESTS.write_text(digests())


def changed_files():
    """Returns the files that were changed, added or removed since the code was generated."""
    noted, now = set(DIGESTS.read_text().splitlines()), set(digests().splitlines())
    return sorted({line.split()[1] for line in noted ^ now})


def stale_files():
    """Returns the files of the code that are not what the generator makes."""
    with tempfile.TemporaryDirectory() as folder:
        generate(folder)
        committed, generated = contents(CODE), contents(Path(folder))
    names = sorted(committed.keys() | generated.keys())
    return [name for name in names if committed.get(name) != generated.get(name)]


def main():
    match sys.argv[1:]:
        case ["write"]:
            write()
            return 0
        case ["compare"]:
            wrong, what = stale_files(), "not what the contracts generate"
        case []:
            wrong, what = changed_files(), "changed since the code of the contracts was generated"
        case _:
            print(__doc__, file=sys.stderr)
            return 64
    if wrong:
        print(f"tests/generated_code.py: {what}: {', '.join(wrong)}; {WRITE}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
