"""Tests how planted_faults.py finds the code of a fault; tests/run lint runs them."""

import tempfile
import unittest
from pathlib import Path

from planted_faults import FaultError, planted_files, replace_once

FAULT = """
about = "A file by another path."
[[edit]]
file = "./tests/src/lib.rs"
find = "pub mod"
replace = "mod"
"""
CODE = """
impl Queue {
    /// Adds a job.
    fn push(&mut self, job: Job) -> impl Sized {
        self.jobs.insert(job.id, job);
        log("a job // is queued", '"');
    }
}

impl<T> Drop for Worker<T> {
    fn drop(&mut self) {
        self.queue.push(self.job);
    }
}

impl Worker<Job> {
    fn push(&mut self) {
        self.queue.push(
            self.job,
            // Later.
            self.at,
        );
        let sql = "SELECT id
            FROM job";
    }
}
"""


def planted(function, find):
    edit = {"find": find, "replace": "HERE"} | ({"function": function} if function else {})
    return replace_once(CODE, edit)


class PlantedFaultsTest(unittest.TestCase):
    def test_only_the_expression_is_replaced(self):
        self.assertEqual(planted("Queue::push", "job.id"), CODE.replace("job.id", "HERE"))

    def test_white_space_comments_and_the_last_comma_do_not_count(self):
        self.assertIn("HERE;", planted("Worker::push", "self . queue.push(self.job, self.at)"))

    def test_sql_may_be_broken_into_other_lines(self):
        self.assertIn("let sql = HERE;", planted("Worker::push", '"SELECT id FROM job"'))

    def test_a_trait_method_is_found_by_the_name_of_its_type(self):
        self.assertIn("HERE(self.job)", planted("Worker::drop", "self.queue.push"))

    def test_code_that_is_not_there_or_there_twice_is_an_error(self):
        for find in ["self.jobs.remove", "job", "self.jobs.insert(job.id, jobs)"]:
            with self.assertRaises(FaultError, msg=find):
                planted("Queue::push", find)

    def test_a_replacement_that_changes_nothing_is_an_error(self):
        with self.assertRaises(FaultError):
            replace_once(CODE, {"find": "job.id", "replace": "job . id"})

    def test_a_file_that_git_names_otherwise_is_an_error(self):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as fault:
            fault.write(FAULT)
            fault.flush()
            with self.assertRaisesRegex(FaultError, "as git names it"):
                planted_files([Path(fault.name)])

    def test_a_function_that_is_not_there_or_there_twice_is_an_error(self):
        for function in ["push", "Queue::drop", "Missing::push"]:
            with self.assertRaises(FaultError, msg=function):
                planted(function, "self.job")

    def test_without_a_function_the_whole_file_counts(self):
        self.assertIn("HERE for Worker<T>", planted(None, "impl<T> Drop"))


if __name__ == "__main__":
    unittest.main()
