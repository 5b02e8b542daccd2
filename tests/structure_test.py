"""Tests that structure.py finds what breaks its rules; tests/run lint runs them."""

import tempfile
import unittest
from pathlib import Path

import structure


def circles_of(files):
    """Returns the circles of a crate with these files, which are given by their paths in `src/`."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder)
        for path, text in files.items():
            file = source / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        graph = structure.imports(structure.product_files(source))
        return structure.circles(graph), structure.circles(structure.topics(graph))


class Circles(unittest.TestCase):
    def assert_circle(self, files, *modules):
        found, _ = circles_of({"lib.rs": "mod a;\nmod b;\n", **files})
        self.assertEqual(found, [[tuple(module.split("/")) for module in modules]])

    def assert_none(self, files):
        self.assertEqual(circles_of({"lib.rs": "mod a;\nmod b;\npub use a::A;\n", **files}), ([], []))

    def test_two_files_that_use_each_other_are_a_circle(self):
        self.assert_circle({"a.rs": "use crate::b::B;", "b.rs": "use crate::a::A;"}, "a", "b")

    def test_nested_braces_and_renamed_items_are_read(self):
        self.assert_circle(
            {"a.rs": "use crate::{\n    b::{self, x::{Y, Z}},\n    c::C as D,\n};", "b.rs": "use crate::{a::A as E};"},
            "a",
            "b",
        )

    def test_a_path_in_the_code_counts_as_a_use(self):
        self.assert_circle({"a.rs": "fn f() { crate::b::g() }", "b.rs": "fn g() -> super::a::A { todo() }"}, "a", "b")

    def test_a_parent_and_its_child_are_a_circle_if_both_use_the_other(self):
        self.assert_circle({"a.rs": "mod c;\nfn f() { c::g() }", "a/c.rs": "use super::A;", "b.rs": ""}, "a", "a/c")

    def test_a_circle_of_three_is_found_once(self):
        files = {"a.rs": "use crate::b::B;", "b.rs": "use crate::c::C;", "c.rs": "use crate::a::A;"}
        self.assert_circle(files, "a", "b", "c")

    def test_a_child_may_use_its_parent_that_only_declares_and_shows_it(self):
        self.assert_none({"a.rs": "mod c;\npub(crate) use c::{C, D};", "a/c.rs": "use super::A;", "b.rs": ""})

    def test_what_lib_rs_shows_may_be_named_by_the_files_of_the_crate(self):
        self.assert_none({"a.rs": "pub struct A;", "b.rs": "use crate::A;"})

    def test_comments_tests_and_other_crates_are_no_imports(self):
        tests = "#[cfg(test)]\nmod tests {\n    use crate::b::B;\n}\n"
        self.assert_none({"a.rs": f"// crate::b::B\nuse tokio::b::B;\n{tests}", "b.rs": "use crate::a::A;"})

    def test_folders_that_import_each_other_are_a_circle_of_topics(self):
        files = {"a/x.rs": "use crate::b::y::Y;", "a/z.rs": "", "b/y.rs": "use crate::a::z::Z;"}
        self.assertEqual(circles_of(files), ([], [["a", "b"]]))


class Floors(unittest.TestCase):
    FLOORS = [["low"], ["middle", "beside"], ["high"]]

    def assert_upward(self, graph, *expected):
        self.assertEqual(list(structure.upward(self.FLOORS, graph)), list(expected))

    def test_an_arrow_down_is_allowed_over_several_floors(self):
        self.assert_upward({"high": {"middle", "low"}, "middle": {"low"}})

    def test_an_arrow_up_is_refused(self):
        self.assert_upward({"low": {"high"}}, ("low", "high"))

    def test_an_arrow_within_a_floor_is_refused(self):
        self.assert_upward({"middle": {"beside"}}, ("middle", "beside"))

    def test_what_is_on_no_floor_may_import_and_be_imported(self):
        self.assert_upward({"other": {"high"}, "low": {"other"}})


class UnrunTests(unittest.TestCase):
    TEST = "#[tokio::test]\nasync fn f() {}\n"
    EXAMPLE = "/// ```\n/// f();\n/// ```\nfn f() {}\n"
    TEXT = "/// ```text\n/// f\n/// ```\nfn f() {}\n"

    def assert_unrun(self, manifest, files, *expected):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for path, text in {"Cargo.toml": manifest, **files}.items():
                file = folder / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            found = [str(file.relative_to(folder)) for file in structure.unrun_tests(folder)]
        self.assertEqual(found, list(expected))

    def test_a_test_of_a_library_whose_tests_are_off_is_found(self):
        self.assert_unrun("[lib]\ntest = false", {"src/a.rs": self.TEST}, "src/a.rs")
        self.assert_unrun("[lib]\ndoctest = false", {"src/a.rs": self.TEST})

    def test_an_example_of_a_library_whose_examples_are_off_is_found(self):
        files = {"src/a.rs": self.TEXT + self.EXAMPLE, "src/b.rs": self.TEXT}
        self.assert_unrun("[lib]\ndoctest = false", files, "src/a.rs")
        self.assert_unrun("[lib]\ntest = false", files)

    def test_a_test_of_a_program_whose_tests_are_off_is_found(self):
        files = {"src/main.rs": self.TEST, "src/bin/b.rs": self.TEST, "src/bin/c.rs": self.TEST}
        programs = '[[bin]]\nname = "a"\npath = "src/main.rs"\ntest = false\n[[bin]]\nname = "b"\ntest = false\n'
        self.assert_unrun(programs, files, "src/bin/b.rs", "src/main.rs")


if __name__ == "__main__":
    unittest.main()
