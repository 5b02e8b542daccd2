#!/usr/bin/env python3
"""Checks the SBOM of an archive, in whose folder it runs. The SBOM must be valid CycloneDX, and have the packages that
the programs name in the section of `cargo auditable`, which also lists macros."""

import json
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

PROGRAMS = ["auth-service", "gateway", "posts-service", "rolegate"]


def embedded(program):
    """Returns the packages that a program says it is made of."""
    with tempfile.TemporaryDirectory() as folder:
        section = Path(folder) / "section"
        subprocess.run(["objcopy", "--dump-section", f".dep-v0={section}", program, f"{folder}/copy"], check=True)
        packages = json.loads(zlib.decompress(section.read_bytes()))["packages"]
    return {(it["name"], it["version"]) for it in packages if it.get("kind", "runtime") == "runtime"}


def main():
    text = Path("sbom.cdx.json").read_text()
    if error := JsonStrictValidator(SchemaVersion.V1_5).validate_str(text):
        sys.exit(f"not CycloneDX 1.5: {error}")
    sbom = json.loads(text)
    listed = {(it["name"], it["version"]) for it in sbom["components"] if it["bom-ref"].startswith("pkg:cargo/")}
    in_programs = set.union(*(embedded(program) for program in PROGRAMS))
    if not listed <= in_programs:
        sys.exit(f"only in the SBOM: {sorted(listed - in_programs)}")
    names = {name for name, _ in listed}
    assert names >= {"auth-service", "gateway", "posts-service", "rolegate", "rolegate-proto", "tokio", "ring"}, names
    notices = Path("THIRD-PARTY.txt").read_text()
    unnamed = [it["name"] for it in sbom["components"] if it.get("hashes") and f"{it['name']} {it['version']}" not in notices]
    assert not unnamed, f"no licence of {unnamed}"
    print(f"{len(listed)} packages in the SBOM and the licences, {len(in_programs)} in the programs")


main()
