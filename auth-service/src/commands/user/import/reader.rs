//! Reads users from a file or a pipe in batches, twice if needed, and reports bad lines.

use super::report::Report;
use crate::{commands::user::user_line::LineReader, user::UserRecord};
use rolegate_program::{failure::Failure, settings::SettingError};
use std::{
    collections::HashSet,
    hash::{BuildHasher, RandomState},
    io,
    os::fd::AsFd,
    path::Path,
};
use tokio::{
    fs::File,
    io::{AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, BufReader},
};

/// The maximum length of a line, in bytes, which is far more than a user needs.
const MAX_LINE_BYTES: usize = 16 * 1024;
const BUFFER_BYTES: usize = 256 * 1024;
/// The maximum number of lines in a batch. One statement inserts the users of a batch. With
/// `--continue`, each batch has a transaction of its own.
const MAX_LINES: usize = 1000;

/// Reads users, and refuses a line with the name or the id of an earlier line. To find such lines,
/// it keeps digests and ids, up to 24 bytes for each user.
pub(super) struct Reader {
    input: BufReader<File>,
    /// The position of the first line; `None` if the input cannot be read again.
    start: Option<u64>,
    line: Vec<u8>,
    /// The number of the current line, from 1.
    number: u64,
    /// The digests of the names in earlier lines.
    names: HashSet<u64>,
    /// The digests of the names in lower case; `None` in the second reading, so that no warning is
    /// repeated.
    names_in_lower_case: Option<HashSet<u64>>,
    ids: HashSet<i64>,
    hasher: RandomState,
}

/// A user, and the number of the user's line.
pub(super) struct UserWithLine {
    pub(super) number: u64,
    pub(super) user: UserRecord,
}

pub(super) type Batch = Vec<UserWithLine>;

impl Reader {
    /// Opens a file, or standard input for `-`.
    ///
    /// With `twice`, standard input or a pipe is first copied to an unnamed file, which no other
    /// process can open.
    pub(super) async fn open(path: &Path, twice: bool) -> Result<Self, Failure> {
        let invalid =
            |problem: &str, error| SettingError::new("FILE", format!("{problem}: {error}"));
        let mut file = open(path)
            .await
            .map_err(|error| invalid("cannot be read", error))?;
        let mut start = file.stream_position().await.ok();
        if twice && (start.is_none() || path == Path::new("-")) {
            let unnamed = tempfile::tempfile().map_err(|error| {
                let problem = "needs a temporary file to be read twice; save it and name it, or use \
                               --continue";
                invalid(problem, error)
            })?;
            file = copy(file, unnamed).await?;
            start = Some(0);
        }
        Ok(Self {
            input: BufReader::with_capacity(BUFFER_BYTES, file),
            start,
            line: Vec::new(),
            number: 0,
            names: HashSet::new(),
            names_in_lower_case: Some(HashSet::new()),
            ids: HashSet::new(),
            hasher: RandomState::new(),
        })
    }

    /// Returns to the first line for the second reading, and forgets the lines that were read
    /// before. Fails if the input cannot be read again.
    pub(super) async fn rewind(&mut self) -> io::Result<()> {
        let start = self.start.ok_or(io::ErrorKind::NotSeekable)?;
        self.input.seek(io::SeekFrom::Start(start)).await?;
        self.number = 0;
        self.names_in_lower_case = None;
        self.names.clear();
        self.ids.clear();
        Ok(())
    }

    /// Reads the next batch of users; `None` at the end. Bad lines and similar names are added to
    /// `report`. The batch is empty if all its lines are bad.
    pub(super) async fn next(
        &mut self,
        line_reader: &LineReader,
        report: &mut Report,
    ) -> Result<Option<Batch>, Failure> {
        let mut batch = Vec::new();
        for count in 0..MAX_LINES {
            if !self.next_line().await? {
                return Ok((count > 0).then_some(batch));
            }
            match self.read_user(line_reader) {
                Ok(user) => {
                    if let Some(names) = &mut self.names_in_lower_case
                        && !names.insert(self.hasher.hash_one(user.username.to_lowercase()))
                    {
                        report.add_similar_username(self.number, &user.username);
                    }
                    batch.push(UserWithLine {
                        number: self.number,
                        user,
                    });
                }
                Err(reason) => report.add_bad_line(self.number, &reason),
            }
        }
        Ok(Some(batch))
    }

    fn read_user(&mut self, line_reader: &LineReader) -> Result<UserRecord, String> {
        if self.line.len() > MAX_LINE_BYTES {
            return Err("has more than 16 KiB".to_owned());
        }
        let user = line_reader.read(self.line.trim_ascii())?;
        if !self.names.insert(self.hasher.hash_one(&user.username)) {
            return Err("has the username of an earlier line".to_owned());
        }
        if user.id.is_some_and(|id| !self.ids.insert(id)) {
            return Err("has the id of an earlier line".to_owned());
        }
        Ok(user)
    }

    /// Reads the next line that is not blank; returns false at the end. It keeps only the beginning
    /// of a line that is too long.
    async fn next_line(&mut self) -> io::Result<bool> {
        loop {
            self.read_line().await?;
            self.number += 1;
            if self.line.is_empty() {
                return Ok(false);
            }
            // A line that is too long is not blank, even if its beginning is, because the rest may
            // be a user.
            let is_whole = self.line.len() <= MAX_LINE_BYTES || self.line.ends_with(b"\n");
            if !is_whole || !self.line.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }

    /// Reads a line to its end, but keeps at most one byte more than [`MAX_LINE_BYTES`], which
    /// shows that the line is too long.
    async fn read_line(&mut self) -> io::Result<()> {
        self.line.clear();
        loop {
            let mut piece = (&mut self.input).take(MAX_LINE_BYTES as u64);
            let read = piece.read_until(b'\n', &mut self.line).await?;
            let is_complete = read == 0 || self.line.ends_with(b"\n");
            self.line.truncate(MAX_LINE_BYTES + 1);
            if is_complete {
                return Ok(());
            }
        }
    }
}

async fn open(path: &Path) -> io::Result<File> {
    if path == Path::new("-") {
        let stdin = io::stdin().as_fd().try_clone_to_owned()?;
        return Ok(File::from_std(stdin.into()));
    }
    let file = File::open(path).await?;
    if file.metadata().await?.is_dir() {
        Err(io::ErrorKind::IsADirectory.into())
    } else {
        Ok(file)
    }
}

async fn copy(input: File, unnamed: std::fs::File) -> io::Result<File> {
    let mut input = BufReader::with_capacity(BUFFER_BYTES, input);
    let mut copy = File::from_std(unnamed);
    tokio::io::copy_buf(&mut input, &mut copy).await?;
    copy.rewind().await?;
    Ok(copy)
}

#[cfg(test)]
mod tests {
    use super::{MAX_LINE_BYTES, Reader};
    use std::{io::Write as _, os::fd::AsRawFd as _, path::Path};

    async fn all(reader: &mut Reader) -> Vec<(u64, usize)> {
        let mut found = Vec::new();
        while reader.next_line().await.expect("read") {
            let is_long = reader.line.len() > MAX_LINE_BYTES;
            let text = if is_long {
                &reader.line[..]
            } else {
                reader.line.trim_ascii()
            };
            found.push((reader.number, text.len()));
        }
        found
    }

    #[tokio::test]
    async fn lines_are_numbered_and_a_pipe_is_read_twice() {
        let long = "x".repeat(MAX_LINE_BYTES * 40);
        let (most, spaces) = ("y".repeat(MAX_LINE_BYTES - 1), " ".repeat(MAX_LINE_BYTES));
        let input = format!("a\r\n\n{long}\nb\n{most}\n{spaces}\n{spaces}c\nend");
        let (pipe, mut writer) = std::io::pipe().expect("a pipe");
        let writing = tokio::task::spawn_blocking(move || writer.write_all(input.as_bytes()));
        let path = format!("/proc/self/fd/{}", pipe.as_raw_fd());
        let mut reader = Reader::open(Path::new(&path), true).await.expect("opened");
        writing.await.expect("no panic").expect("written");
        let first = all(&mut reader).await;
        let too_long = MAX_LINE_BYTES + 1;
        let expected = [
            (1, 1),
            (3, too_long),
            (4, 1),
            (5, MAX_LINE_BYTES - 1),
            (7, too_long),
            (8, 3),
        ];
        assert_eq!(first, expected);
        reader.rewind().await.expect("rewound");
        assert_eq!(all(&mut reader).await, first);
    }
}
