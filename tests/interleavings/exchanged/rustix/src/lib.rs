//! Threads of shuttle have no priority.

/// As in rustix.
pub mod process {
    use std::io;

    /// Changes nothing.
    pub fn setpriority_process(_: Option<u32>, _: i32) -> io::Result<()> {
        Ok(())
    }
}
