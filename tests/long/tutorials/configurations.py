"""Loads every configuration of Caddy and nginx in the tutorials and guides with the program itself, after each step in
which a reader changes it. Other checks also serve with most of them. For pages about a server on the internet, this is
the only check."""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from blocks import blocks_of
from stage import ROOT, free_ports

COMMANDS = {
    "caddy": ["caddy", "validate", "--adapter", "caddyfile", "--config", "configuration"],
    "nginx": ["nginx", "-t", "-p", ".", "-e", "stderr", "-c", "configuration"],
}


def check():
    for page in sorted([*ROOT.glob("docs/tutorials/*.md"), *ROOT.glob("docs/how-to/*.md")]):
        text = page.read_text()
        blocks = [block for block in blocks_of(text) if block.language in COMMANDS]
        shown = re.findall(r"^ *```(?:caddy|nginx)\b", text, re.M)
        assert len(blocks) == len(shown), f"{page.name}: {len(blocks)} of {len(shown)} blocks were found"
        files = {}
        for block in blocks:
            files[block.language] = changed(files.get(block.language, ""), block, page.name)
            load(block.language, files[block.language], page.name)


def changed(file, block, page):
    """Returns the file of a program after the step of this block. Each page has one file for each program."""
    if block.file:
        return block.text
    if "first in" in block.before:
        return f"{block.text}\n{file}"
    if "ppend this" in block.before:
        return f"{file}\n{block.text}"
    # Another server belongs into nginx's block `http`, which is the last in the file.
    is_server = block.text.startswith("server {") and file.endswith("}\n")
    assert is_server, f"{page} does not say where this belongs:\n{block.text}"
    return file.removesuffix("}\n") + block.text + "}\n"


def load(program, text, page):
    """Checks that the program loads this configuration, beside the shipped files and a certificate."""
    with tempfile.TemporaryDirectory(prefix="rolegate-configuration-") as folder:
        for file in (ROOT / "deploy/proxies" / program).glob("rolegate*"):
            shutil.copy(file, folder)
        make_certificate(folder)
        Path(folder, "configuration").write_text(with_free_ports(with_certificate(text)))
        loaded = subprocess.run(COMMANDS[program], cwd=folder, capture_output=True, text=True, timeout=60)
        output = loaded.stdout + loaded.stderr
        assert loaded.returncode == 0, f"{program} does not load what {page} says:\n{text}\n{output}"


def make_certificate(folder):
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
               "-days", "1", "-subj", "/CN=example.org", "-out", "cert.pem", "-keyout", "key.pem"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def with_certificate(text):
    """Returns the configuration with the certificate beside it, under the names in the pages for one machine."""
    text = re.sub("ssl_certificate [^;]+", "ssl_certificate cert.pem", text)
    return re.sub("ssl_certificate_key [^;]+", "ssl_certificate_key key.pem", text)


def with_free_ports(text):
    """Returns the configuration with free ports, because nginx binds its ports when it loads a file. Caddy does not."""
    listener = "listen ((?:127[.]0[.]0[.]1:)?[0-9]+)"
    ports = dict(zip(sorted(set(re.findall(listener, text))), free_ports()))
    return re.sub(listener, lambda it: f"listen 127.0.0.1:{ports[it[1]]}", text)
