//! Prints the logs of the programs that a test has started, when the test fails.

use super::Output;
use crate::program::Program;
use std::{cell::RefCell, fs::File, io::Read as _, os::fd::AsFd as _, panic, sync::Once};
use tokio::{process::ChildStderr, sync::watch};

/// How many lines of a log are printed, counted from its end.
const MAX_LINES: usize = 200;

/// How many logs are kept. Beyond that, the oldest log of a program that has ended is dropped.
const MAX_LOGS: usize = 16;

static HOOK: Once = Once::new();

thread_local! {
    /// The logs of the programs that this thread has started, including programs that have ended. A program that a
    /// test starts from another thread is missing.
    static LOGS: RefCell<Vec<ProgramLog>> = const { RefCell::new(Vec::new()) };
}

struct ProgramLog {
    program: Program,
    id: u32,
    /// A second handle of the pipe that the test reads. At a panic it yields the lines that the test has not read yet,
    /// which matter most. `None` once the program was seen to have ended.
    unread: Option<File>,
    output: watch::Sender<Output>,
}

/// Makes every later panic of this thread print the log of this program.
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
            // `try_with` fails while the thread ends, and `try_borrow` while a log is added. The logs are then left
            // out: a second panic in this hook would abort the process.
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
        .expect("the pipe can be duplicated");
    LOGS.with_borrow_mut(|logs| {
        for log in logs.iter_mut() {
            if log.output.borrow().has_ended {
                log.unread = None;
            }
        }
        let ended = logs.iter().position(|log| log.unread.is_none());
        if let Some(oldest) = ended.filter(|_| logs.len() >= MAX_LOGS) {
            logs.remove(oldest);
        }
        logs.push(ProgramLog {
            program,
            id,
            unread: Some(unread.into()),
            output,
        });
    });
}

impl ProgramLog {
    #[expect(clippy::print_stderr, reason = "part of what a failed test prints")]
    fn print(&self) {
        let mut rest = Vec::new();
        // While the program runs, this ends with `WouldBlock`, because the pipe does not block. The bytes that were
        // read before it count.
        if let Some(mut unread) = self.unread.as_ref() {
            let _ = unread.read_to_end(&mut rest);
        }
        // A test that catches the panic can still find these lines.
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
