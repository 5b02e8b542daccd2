"""The code blocks of a page, each with the paragraph above it, which says where it belongs."""

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
        """The file that it is saved as."""
        found = re.search("[Ss]ave this as `(.+?)`", self.before)
        return found and found[1]

    @property
    def terminal(self):
        """The terminal that it is typed in, if that is another one than of the block before."""
        found = re.findall(r"[Ii]n (?:a |an|the )(\w+) terminal", self.before)
        return found and found[-1].replace("other", "second")

    @property
    def interrupted(self):
        """The terminal where Ctrl-C is pressed before."""
        found = re.search(r"Ctrl-C in the (\w+) terminal", self.before)
        return found and found[1]

    def chunks(self):
        """Pairs of commands and what they print, which comments below them say; None: whatever they like."""
        for commands, printed in re.findall(r"((?:^(?!# ).*\n)+)((?:^# .*\n)*)", self.text, re.M):
            yield commands, re.sub("^# ", "", printed, flags=re.M) or None


def blocks_of(text):
    """In order. A block without a language is what the block before it prints."""
    found, before = [], ""
    for paragraph, language, code in re.findall(r"((?:^(?! *```).*\n)*)^ *```(\w*)\n((?s:.)*?)^ *```\n", text, re.M):
        above = [it for it in re.split(r"\n\s*\n", paragraph) if it.strip()]
        before = above[-1] if above else ""
        found.append(Block(language, textwrap.dedent(code), before))
    return found


def pattern(printed):
    """`…` stands for anything in its line, and alone in a line for any lines."""
    lines = printed.strip().split("\n")
    return re.compile("\n".join("(?s:.*)" if it == "…" else re.escape(it).replace("…", ".*") for it in lines))
