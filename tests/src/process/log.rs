//! Prints the logs of the programs that a test has started, when the test fails.

use super::Output;
use crate::program::Program;
use std::{cell::RefCell, fs::File, io::Read as _, os::fd::AsFd as _, panic, sync::Once};
use tokio::{process::ChildStderr, sync::watch};

/// A longer log loses its beginning.
const MAX_LINES: usize = 200;

static HOOK: Once = Once::new();

thread_local! {
    /// Of the test of this thread, also those of programs that have ended. Not of a test whose programs are started
    /// by other threads.
    static LOGS: RefCell<Vec<ProgramLog>> = const { RefCell::new(Vec::new()) };
}

struct ProgramLog {
    program: Program,
    id: u32,
    /// The same pipe that the test reads: it may not yet have read the last lines, which matter most.
    unread: File,
    output: watch::Sender<Output>,
}

/// From now on a panic of this thread prints the log of this program.
pub(super) fn print_on_panic(
    program: Program,
    id: u32,
    stderr: &ChildStderr,
    output: watch::Sender<Output>,
) {
    HOOK.call_once(|| {
        let print_panic = panic::take_hook();
        panic::set_hook(Box::new(move |panicked| {
            print_panic(panicked);
            // A panic while a program starts, or while the thread ends, has nothing to print.
            let _ = LOGS.try_with(|logs| {
                if let Ok(logs) = logs.try_borrow() {
                    logs.iter().for_each(ProgramLog::print);
                }
            });
        }));
    });
    let unread = stderr
        .as_fd()
        .try_clone_to_owned()
        .expect("a file descriptor more");
    LOGS.with_borrow_mut(|logs| {
        logs.push(ProgramLog {
            program,
            id,
            unread: unread.into(),
            output,
        });
    });
}

impl ProgramLog {
    #[expect(clippy::print_stderr, reason = "part of what a failed test prints")]
    fn print(&self) {
        let mut rest = Vec::new();
        // Ends with an error where a program that still runs has written nothing more: the pipe does not block.
        let _ = (&self.unread).read_to_end(&mut rest);
        // A test that survives the panic misses nothing.
        self.output
            .send_modify(|output| output.text += &String::from_utf8_lossy(&rest));
        let output = self.output.borrow();
        let lines: Vec<&str> = output.text.lines().collect();
        let omitted = lines.len().saturating_sub(MAX_LINES);
        eprintln!("---- log of {}, process {}", self.program.name(), self.id);
        if omitted > 0 {
            eprintln!("({omitted} earlier lines are left out)");
        }
        for line in &lines[omitted..] {
            eprintln!("{line}");
        }
    }
}
