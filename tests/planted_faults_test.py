"""What counts when planted_faults.py looks for the code of a fault; tests/run lint runs it."""

import unittest

from planted_faults import FaultError, replace_once

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

    def test_a_method_of_a_trait_is_one_of_the_type(self):
        self.assertIn("HERE(self.job)", planted("Worker::drop", "self.queue.push"))

    def test_code_that_is_not_there_or_there_twice_is_an_error(self):
        for find in ["self.jobs.remove", "job", "self.jobs.insert(job.id, jobs)"]:
            with self.assertRaises(FaultError, msg=find):
                planted("Queue::push", find)

    def test_a_function_that_is_not_there_or_there_twice_is_an_error(self):
        for function in ["push", "Queue::drop", "Rest::push"]:
            with self.assertRaises(FaultError, msg=function):
                planted(function, "self.job")

    def test_without_a_function_the_whole_file_counts(self):
        self.assertIn("HERE for Worker<T>", planted(None, "impl<T> Drop"))


if __name__ == "__main__":
    unittest.main()
