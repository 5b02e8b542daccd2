#!/usr/bin/env python3
"""Plants faults into a copy of the tree, for the tools that must find them, and builds the copy.

  tests/planted_faults.py check                            every fault must apply to the tree as it is
  tests/planted_faults.py build FOLDER FAULT... -- COMMAND  makes FOLDER/tree a copy of the tree, plants these faults
                                                           into it, and runs COMMAND there with the target folder
                                                           FOLDER/build

A fault is a TOML file. It says in `about` what the fault is, and has one or more edits:

  [[edit]]
  file = "crates/program/src/shutdown.rs"
  function = "Shutdown::begin"
  find = "tokio::time::sleep(lame_duck)"
  replace = "tokio::time::sleep(lame_duck.min(Duration::ZERO))"

`function` is the end of the path of one function with a body, such as `begin` or `Shutdown::begin`; a method of
`impl Drop for Attempt` is `Attempt::drop`. Attributes and doc comments are not part of it. Without `function` the whole
file is searched.

`find` must occur there exactly once. It is compared token by token: white space, comments and the comma before a closing
bracket do not count, so that formatting a product file breaks no fault. Only the matched tokens are replaced: a comma
or semicolon behind them stays. Edits apply in order, each to the result of the one before. A fault whose edit matches
nowhere or more than once, or changes nothing, is an error that names it.
"""

import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ["tests/mutants", "tests/interleavings/planted", "tests/simulation/planted", "fuzz/planted"]

TOKEN = re.compile(
    r"""
    (?P<comment> //[^\n]* | /\*.*?\*/ )
    | (?P<string> (?:br|cr|r)(?P<hashes>\#*)".*?"(?P=hashes) | [bc]?"(?:\\.|[^"\\])*" )
    | b?'(?: \\x.. | \\u\{[^}]*\} | \\. | [^\\'] )'
    | '?\w+
    | \S
    """,
    re.VERBOSE | re.DOTALL,
)
CLOSING = ")]}"


class FaultError(Exception):
    """The reason why a fault does not apply."""


@dataclass
class Token:
    """A token of Rust code and its place in the text."""

    text: str
    start: int
    end: int


@dataclass
class Block:
    """A function, module, trait or `impl` block: its name, the index of its first token, and the number of open
    brackets around it."""

    name: str
    start: int
    brackets: int


@dataclass
class Function:
    """A function with a body: its path, the index of its first token, and the index after its last one."""

    path: str
    start: int
    end: int


def tokenize(code):
    """Returns the tokens that count when code is compared."""
    tokens = []
    for match in TOKEN.finditer(code):
        text = match[0]
        if match["comment"]:
            continue
        if match["string"]:
            # A string may be broken into lines, as SQL often is, so the width of white space in strings does not count.
            text = re.sub(r"\s+", " ", re.sub(r"\\\n\s*", "", text))
        if text in CLOSING and tokens and tokens[-1].text == ",":
            tokens.pop()
        tokens.append(Token(text, match.start(), match.end()))
    return tokens


def implemented_type(tokens, start):
    """Returns the name of the type in the `impl` block that begins at this token."""
    depth, name = 0, ""
    for before, token in zip(tokens[start:], tokens[start + 1:]):
        if depth == 0 and token.text in ("{", "where"):
            return name
        if token.text == "<":
            depth += 1
        elif token.text == ">" and before.text != "-":
            depth -= 1
        elif depth == 0 and re.match(r"[A-Za-z_]", token.text):
            # The type follows `for`, which stands after the name of the trait.
            name = token.text
    return name


def named_block(tokens, index):
    """Returns the name of the function, module, trait or `impl` block that begins at this token, or None."""
    text = tokens[index].text
    following = tokens[index + 1].text if index + 1 < len(tokens) else ""
    if text in ("fn", "mod", "trait") and re.match(r"\w", following):
        return following
    # In other places, `impl` begins the type of an argument or a result.
    if text == "impl" and (index == 0 or tokens[index - 1].text in "{};]"):
        return implemented_type(tokens, index)
    return None


def functions(tokens):
    """Returns the functions of a file that have a body."""
    found, blocks, brackets, pending = [], [], 0, None
    for index, token in enumerate(tokens):
        name = named_block(tokens, index)
        if name:
            pending = Block(name, index, brackets)
        elif token.text == ";" and pending and pending.brackets == brackets:
            # This was a function of a trait without a body, or a module in a file of its own.
            pending = None
        elif token.text == "{":
            is_body = pending is not None and pending.brackets == brackets
            blocks.append(pending if is_body else None)
            pending = None if is_body else pending
        elif token.text == "}" and blocks:
            block = blocks.pop()
            if block and tokens[block.start].text == "fn":
                names = [outer.name for outer in blocks if outer] + [block.name]
                found.append(Function("::".join(names), block.start, index + 1))
        brackets += (token.text in ("(", "[")) - (token.text in (")", "]"))
    return found


def function_range(tokens, function):
    """Returns the index of a function's first token, and the index after its last one."""
    if function is None:
        return 0, len(tokens)
    matching = [found for found in functions(tokens) if f"::{found.path}".endswith(f"::{function}")]
    if len(matching) != 1:
        paths = ", ".join(found.path for found in matching) or "none"
        raise FaultError(f"there must be exactly one function {function}, and there is: {paths}")
    return matching[0].start, matching[0].end


def replace_once(code, edit):
    """Returns the code with this edit."""
    tokens = tokenize(code)
    wanted = [token.text for token in tokenize(edit["find"])]
    start, end = function_range(tokens, edit.get("function"))
    texts = [token.text for token in tokens]
    found = [at for at in range(start, end - len(wanted) + 1) if texts[at:at + len(wanted)] == wanted]
    if len(found) != 1:
        raise FaultError(f"{len(found)} matches, not exactly one, of: {edit['find'].strip()}")
    first, last = tokens[found[0]], tokens[found[0] + len(wanted) - 1]
    edited = code[:first.start] + edit["replace"].strip("\n") + code[last.end:]
    if [token.text for token in tokenize(edited)] == texts:
        raise FaultError(f"the code stays as it is: {edit['replace'].strip()}")
    return edited


def read_fault(path):
    """Returns the edits of a fault, whose file must have the form above."""
    with path.open("rb") as file:
        fault = tomllib.load(file)
    if set(fault) != {"about", "edit"} or not fault["edit"]:
        raise FaultError("a fault has `about` and at least one [[edit]], and nothing else")
    for edit in fault["edit"]:
        if not {"file", "find", "replace"} <= set(edit) <= {"file", "function", "find", "replace"}:
            raise FaultError("an edit has `file`, `find`, `replace` and perhaps `function`, and nothing else")
        if not all(isinstance(text, str) for text in edit.values()):
            raise FaultError("the values of an edit are texts")
        if not tokenize(edit["find"]):
            raise FaultError("`find` is empty")
    return fault["edit"]


def planted_files(faults):
    """Returns the new contents of the files that these faults change, by their names in the tree."""
    contents, names = {}, names_of_tree()
    for path in faults:
        try:
            for edit in read_fault(path):
                name = edit["file"]
                if name not in names:
                    raise FaultError(f"{name} is not a file of the tree, as git names it")
                if name not in contents:
                    contents[name] = (ROOT / name).read_text(encoding="utf-8")
                contents[name] = replace_once(contents[name], edit)
        except (FaultError, OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise FaultError(f"{path}: {error}") from error
    return contents


def names_of_tree():
    """Returns the files of the tree, including those that are not committed, but none that was removed."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    return {name for name in listed.split("\0") if name and (ROOT / name).is_file()}


def plant(copy, faults):
    """Makes the folder a copy of the tree with these faults and no others.

    Only files whose content differs are written, and they get the current time. Cargo then builds exactly what differs
    from its last build of the copy. A copied time would be older than that build, so cargo would see no change.
    """
    planted = planted_files(faults)
    names = names_of_tree()
    # Folders come after their contents, so that empty ones can be removed.
    for path in sorted(copy.rglob("*"), reverse=True):
        if path.is_dir():
            if not any(path.iterdir()):
                path.rmdir()
        elif str(path.relative_to(copy)) not in names:
            path.unlink()
    for name in names:
        content = planted[name].encode("utf-8") if name in planted else (ROOT / name).read_bytes()
        path = copy / name
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        path.chmod((ROOT / name).stat().st_mode)


def environment(folder):
    """Returns the environment of commands in the copy. With the target folder of the tree, cargo would mix up the
    crates of both."""
    return os.environ | {"CARGO_TARGET_DIR": str(folder / "build"), "CARGO_INCREMENTAL": "0"}


def build(folder, faults, command):
    """Runs a command in a copy of the tree with these faults, and returns its exit code."""
    plant(folder / "tree", faults)
    return subprocess.run(command, cwd=folder / "tree", env=environment(folder), check=False).returncode


def check():
    """Applies each fault on its own, and prints those that do not apply."""
    broken, count = 0, 0
    for fault in sorted(path for folder in FOLDERS for path in (ROOT / folder).glob("*.toml")):
        count += 1
        try:
            planted_files([fault])
        except FaultError as error:
            broken += 1
            print(f"tests/planted_faults.py: DOES NOT APPLY: {error}", file=sys.stderr)
    if broken or not count:
        raise SystemExit(f"tests/planted_faults.py: {broken} of {count} planted faults do not apply")
    print(f"tests/planted_faults.py: all {count} planted faults apply")


def main():
    arguments = sys.argv[1:]
    if arguments == ["check"]:
        return check()
    end = arguments.index("--") if "--" in arguments else 0
    if arguments[:1] != ["build"] or end < 3 or not arguments[end + 1:]:
        print(__doc__, file=sys.stderr)
        return 64
    folder, *faults = (Path(argument).resolve() for argument in arguments[1:end])
    try:
        return build(folder, faults, arguments[end + 1:])
    except FaultError as error:
        raise SystemExit(f"tests/planted_faults.py: {error}") from error


if __name__ == "__main__":
    sys.exit(main())
