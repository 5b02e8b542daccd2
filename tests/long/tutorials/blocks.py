"""Reads the code blocks of a page, each with the paragraph above it, which says where the block belongs."""

import re
import textwrap
from dataclasses import dataclass


@dataclass
class Block:
    language: str
    text: str
    before: str

    @property
    def file(self):
        """The name of the file as which the block is saved, or None."""
        found = re.search("[Ss]ave this as `(.+?)`", self.before)
        return found and found[1]

    @property
    def terminal(self):
        """The terminal in which the block is typed, if the page names another one than before."""
        found = re.findall(r"[Ii]n (?:a |an|the )(\w+) terminal", self.before)
        return found and found[-1].replace("other", "second")

    @property
    def interrupted(self):
        """The terminal in which Ctrl-C is pressed before the block is typed."""
        found = re.search(r"Ctrl-C in the (\w+) terminal", self.before)
        return found and found[1]

    def chunks(self):
        """Yields commands and what they print, which comments below them say. None stands for any output."""
        for commands, printed in re.findall(r"((?:^(?!# ).*\n)+)((?:^# .*\n)*)", self.text, re.M):
            yield commands, re.sub("^# ", "", printed, flags=re.M) or None


def blocks_of(text):
    """Returns the blocks of a text in order. A block without a language is what the block before it prints."""
    found, before = [], ""
    for paragraph, language, code in re.findall(r"((?:^(?! *```).*\n)*)^ *```(\w*)\n((?s:.)*?)^ *```\n", text, re.M):
        above = [it for it in re.split(r"\n\s*\n", paragraph) if it.strip()]
        before = above[-1] if above else ""
        found.append(Block(language, textwrap.dedent(code), before))
    return found


def pattern(printed):
    """Returns a pattern of what is printed. `…` stands for anything in its line, and alone in a line for any lines."""
    lines = printed.strip().split("\n")
    return re.compile("\n".join("(?s:.*)" if it == "…" else re.escape(it).replace("…", ".*") for it in lines))
