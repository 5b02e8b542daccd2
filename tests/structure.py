#!/usr/bin/env python3
"""Checks how the Rust files of the product depend on each other, and how long they are; tests/run lint runs it.

  tests/structure.py           prints what breaks a rule and exits with 1, or prints what it has checked
  tests/structure.py graph     prints each import of a file by another one

The rules:

- No circle between the files of a crate: a reader must be able to begin somewhere. A file imports another one when it
  names an item of it, in a `use` or by a path. `mod child;` alone is no import, and neither is the `pub use` by which a
  file shows what is in the folder of its name.
- No circle between the topics of a crate. A topic is a file directly in `src/` together with the folder of its name.
- A crate depends on crates of lower floors only, and so do the topics for which FLOORS names an order.
- A file has at most 350 lines.
- A manifest turns off the tests or the examples of a target only where there are none. Cargo would otherwise build and
  start a test program that tests nothing; but a test that is added later must not be passed over.

Modules of tests and generated code are left out: they import whatever they test. The packages of tests and benchmarks
must be without circles and must run all their tests, too; the other rules are for the product.
"""

import re
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAX_LINES = 350

# The crates, from the lowest floor to the highest. Crates on the same floor do not depend on each other.
CRATE_FLOORS = [
    ["rolegate-proto", "rolegate-batcher", "rolegate-bcrypt-lanes", "rolegate-grpc-tls"],
    ["rolegate-program"],
    ["rolegate-http-server", "rolegate-sign-in", "rolegate-sql-store", "rolegate-grpc-client"],
    ["rolegate-grpc-server", "rolegate-auth-client", "rolegate-posts-client"],
    ["auth-service", "posts-service", "gateway"],
    ["rolegate"],
    ["rolegate-test-server"],
]

NOT_PRODUCT = {"auth-fixture", "bench", "e2e", "postgres-cluster", "simulation", "specifications"}

# The topics of a crate, from the lowest floor to the highest. A topic that is not named may be on any floor.
TOPIC_FLOORS = {
    "auth-service": [
        ["user"],
        ["tokens"],
        ["store", "password", "second_factor"],
        ["accounts"],
        ["grpc"],
        ["host", "commands"],
    ],
    "posts-service": [["post"], ["store"], ["posts"], ["grpc"], ["host"], ["commands"]],
    "gateway": [["extract"], ["endpoints"], ["bearer", "basic"], ["gateway"]],
}

IGNORED_FOLDERS = {"tests", "test_support", "generated"}
IGNORED_FILES = {"tests.rs", "test_support.rs", "fuzzing.rs"}


def without_comments_and_tests(text):
    """Returns the code of a file without comments, and without what is only compiled for tests."""
    text = re.sub(r"//[^\n]*", "", text)
    # A visibility such as `pub(in path)` names a module without importing it.
    text = re.sub(r"\bpub\(in [^)]*\)", "pub", text)
    return re.sub(r"#\[cfg\(test\)\]\s*(#\[[^\]]*\]\s*)*(pub(\([^)]*\))?\s+)?mod \w+ \{.*\Z", "", text, flags=re.DOTALL)


def expand(path, tree):
    """Yields the paths of a `use`, whose braces may be nested: `a::{b, c::{d}}` gives `a::b` and `a::c::d`."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(tree):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append(tree[start:position])
            start = position + 1
    parts.append(tree[start:])
    for part in (part.strip() for part in parts):
        if nested := re.fullmatch(r"([\w:]*?)(?:::)?\{(.*)\}", part, re.DOTALL):
            yield from expand([*path, *filter(None, nested[1].split("::"))], nested[2])
        elif part:
            yield [*path, *filter(None, part.split(" as ")[0].strip().split("::"))]


def named_paths(code):
    """Yields the paths that the code names, as lists of segments."""
    for match in re.finditer(r"\buse ([^;]*);", code):
        yield from expand([], match[1])
    for match in re.finditer(r"(?<![\w:])(\w+(?:::\w+)+)", re.sub(r"\buse [^;]*;", "", code)):
        yield match[1].split("::")


def module_of(source, file):
    """Returns the path of the module in this file, which is `()` for lib.rs and main.rs."""
    parts = file.relative_to(source).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("lib", "main") and len(parts) == 1 else parts


def product_files(source):
    """Returns the files of a crate by their modules, without those of tests."""
    files = {}
    for file in sorted(source.rglob("*.rs")):
        folders = file.relative_to(source).parts[:-1]
        if not IGNORED_FOLDERS.intersection(folders) and file.name not in IGNORED_FILES:
            files[module_of(source, file)] = file
    return files


def imports(files):
    """Returns which modules each module imports."""
    graph = defaultdict(set)
    for module, file in files.items():
        children = {path[-1] for path in files if path and path[:-1] == module}
        code = without_comments_and_tests(file.read_text())
        shown = re.compile(rf"\bpub(\([^)]*\))?\s+use (self::)?({'|'.join(children) or '-'})\b[^;]*;")
        for path in named_paths(shown.sub("", code)):
            target = resolve(module, children, path)
            while target is not None and target not in files:
                target = target[:-1] if target else None
            # lib.rs does not count, because it only shows what is inside and nothing is built on it.
            if target is not None and target != module and target != () and module != ():
                graph[module].add(target)
    return graph


def resolve(module, children, path):
    """Returns the module to which a path in this module leads, or None if it leads out of the crate."""
    first, *rest = path
    if first == "crate":
        return tuple(rest)
    if first == "self":
        return module + tuple(rest)
    if first == "super":
        base = module
        while path and path[0] == "super":
            base, path = base[:-1], path[1:]
        return base + tuple(path)
    return module + tuple(path) if first in children else None


def circles(graph):
    """Returns the sets of nodes that reach each other, by Tarjan's algorithm."""
    number, low, stack, found = {}, {}, [], []

    def visit(node):
        number[node] = low[node] = len(number)
        stack.append(node)
        for target in sorted(graph.get(node, ())):
            if target not in number:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], number[target])
        if low[node] == number[node]:
            circle = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(circle) > 1:
                found.append(sorted(circle))

    for node in sorted(graph):
        if node not in number:
            visit(node)
    return found


def topics(graph):
    """Returns the imports between topics. The topic of a module is the first segment of its path."""
    between = defaultdict(set)
    for module, targets in graph.items():
        between[module[0]].update(target[0] for target in targets if target[0] != module[0])
    return between


def upward(floors, graph):
    """Yields the imports that do not lead to a lower floor. Names without a floor do not count."""
    floor = {name: number for number, names in enumerate(floors) for name in names}
    for name, targets in sorted(graph.items()):
        for target in sorted(targets):
            if name in floor and target in floor and floor[target] >= floor[name]:
                yield name, target


def crates():
    """Yields the name, the folder and the dependencies of each crate of the workspace."""
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
    for member in workspace["members"]:
        package = tomllib.loads((ROOT / member / "Cargo.toml").read_text())
        yield package["package"]["name"], ROOT / member, set(package.get("dependencies", {}))


def has_test(text):
    return bool(re.search(r"#\[(\w+::)*test\b|\bproptest!", text))


def has_example(text):
    """Returns whether a doc comment has a code block that rustdoc compiles."""
    in_block = False
    for language in re.findall(r"^\s*//[/!] ```(.*)$", text, re.MULTILINE):
        if not in_block and language.split(",")[0] in ("", "rust", "no_run", "should_panic", "compile_fail"):
            return True
        in_block = not in_block
    return False


def unrun_tests(folder):
    """Yields the files of a crate with tests or examples that its manifest turns off."""
    manifest = tomllib.loads((folder / "Cargo.toml").read_text())
    library = manifest.get("lib", {})
    untested = [program for program in manifest.get("bin", []) if not program.get("test", True)]
    programs = [folder / program.get("path", f"src/bin/{program['name']}.rs") for program in untested]
    for file in sorted((folder / "src").rglob("*.rs")):
        text = file.read_text()
        if file.name == "main.rs" or file.parent.name == "bin":
            is_unrun = file in programs and has_test(text)
        else:
            is_unrun = not library.get("test", True) and has_test(text)
            is_unrun |= not library.get("doctest", True) and has_example(text)
        if is_unrun:
            yield file


def broken_rules():
    """Returns a sentence for each broken rule, and the number of checked files."""
    messages, checked, dependencies = [], 0, {}
    product = {name for names in CRATE_FLOORS for name in names}
    for name, folder, needs in crates():
        dependencies[name] = needs
        files = product_files(folder / "src")
        checked += len(files)
        graph = imports(files)
        place = folder.relative_to(ROOT)
        for file in unrun_tests(folder):
            messages.append(f"{file.relative_to(ROOT)}: {place}/Cargo.toml turns its tests or examples off")
        for circle in circles(graph):
            messages.append(f"{place}: these files import each other: {', '.join('/'.join(m) for m in circle)}")
        if name not in product:
            continue
        for circle in circles(topics(graph)):
            messages.append(f"{place}: these topics import each other: {', '.join(circle)}")
        for topic, target in upward(TOPIC_FLOORS.get(name, []), topics(graph)):
            messages.append(f"{place}: {topic} imports {target}, which is not on a lower floor")
        for file in files.values():
            lines = file.read_text().count("\n")
            if lines > MAX_LINES:
                messages.append(f"{file.relative_to(ROOT)}: {lines} lines, at most {MAX_LINES}")
    for name, target in upward(CRATE_FLOORS, dependencies):
        messages.append(f"{name} depends on {target}, which is not on a lower floor")
    for name in sorted(product ^ (set(dependencies) - NOT_PRODUCT)):
        messages.append(f"{name} is on a floor or in the workspace, but not in both")
    return messages, checked


def main():
    if sys.argv[1:] == ["graph"]:
        for name, folder, _ in crates():
            for module, targets in sorted(imports(product_files(folder / "src")).items()):
                for target in sorted(targets):
                    print(name, "/".join(module), "->", "/".join(target))
        return 0
    if sys.argv[1:]:
        print(__doc__, file=sys.stderr)
        return 64
    messages, checked = broken_rules()
    for message in messages:
        print(f"tests/structure.py: {message}", file=sys.stderr)
    if not messages:
        print(f"tests/structure.py: {checked} files in order")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
