//! The lines of a file or a pipe, which can be read twice.

use rolegate_program::settings::SettingError;
use std::{
    fs::File,
    io::{self, BufWriter, Seek, Write},
    path::Path,
};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncSeekExt, BufReader};

/// Far more than a user needs.
const MAX_LINE_BYTES: usize = 16 * 1024;
const BUFFER_BYTES: usize = 256 * 1024;

/// Input of `user import`.
pub(super) struct Lines {
    reader: BufReader<Box<dyn AsyncRead + Send + Unpin>>,
    line: Vec<u8>,
    number: u64,
    /// Bytes read so far.
    pub(super) position: u64,
    /// Bytes of a regular file.
    pub(super) length: Option<u64>,
    again: Again,
}

/// How to read the lines a second time.
enum Again {
    /// Not at all.
    No,
    /// The same file.
    File(File),
    /// An unnamed copy, which no other process can open.
    Copy(BufWriter<File>),
}

/// A line without its end.
pub(super) struct Line<'l> {
    /// The first is 1.
    pub(super) number: u64,
    /// `None` if it is longer than any user's.
    pub(super) text: Option<&'l [u8]>,
}

impl Lines {
    /// Opens a file, or `-` for standard input. With `twice`, a pipe is copied to a temporary file.
    pub(super) async fn open(path: &Path, twice: bool) -> Result<Self, SettingError> {
        let unreadable =
            |error: io::Error| SettingError::new("FILE", format!("cannot be read: {error}"));
        let (reader, file): (Box<dyn AsyncRead + Send + Unpin>, _) = if path == Path::new("-") {
            (Box::new(tokio::io::stdin()), None)
        } else {
            let file = tokio::fs::File::open(path).await.map_err(unreadable)?;
            let metadata = file.metadata().await.map_err(unreadable)?;
            if metadata.is_dir() {
                return Err(unreadable(io::ErrorKind::IsADirectory.into()));
            }
            let copy = file.try_clone().await.map_err(unreadable)?.into_std().await;
            (Box::new(file), metadata.is_file().then_some((copy, metadata.len())))
        };
        let length = file.as_ref().map(|(_, length)| *length);
        let again = match file {
            _ if !twice => Again::No,
            Some((file, _)) => Again::File(file),
            None => {
                let copy = tempfile::tempfile().map_err(|error| {
                    let problem = "needs a temporary file to be read twice; save it and name it, \
                                   or use --continue";
                    SettingError::new("FILE", format!("{problem}: {error}"))
                })?;
                Again::Copy(BufWriter::new(copy))
            }
        };
        Ok(Self::new(reader, length, again))
    }

    fn new(reader: Box<dyn AsyncRead + Send + Unpin>, length: Option<u64>, again: Again) -> Self {
        let reader = BufReader::with_capacity(BUFFER_BYTES, reader);
        Self { reader, line: Vec::new(), number: 0, position: 0, length, again }
    }

    /// The next line that is not blank.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            let is_complete = self.read_line().await?;
            if self.line.is_empty() {
                return Ok(None);
            }
            self.number += 1;
            if let Again::Copy(copy) = &mut self.again {
                copy.write_all(&self.line)?;
                if !is_complete || !self.line.ends_with(b"\n") {
                    copy.write_all(b"\n")?;
                }
            }
            if !is_complete || !self.line.trim_ascii().is_empty() {
                break;
            }
        }
        let is_complete = self.line.len() <= MAX_LINE_BYTES;
        let text = is_complete.then(|| self.line.trim_ascii());
        Ok(Some(Line { number: self.number, text }))
    }

    /// Reads a line, or the beginning of a long one and skips the rest; whether it is complete.
    async fn read_line(&mut self) -> io::Result<bool> {
        self.line.clear();
        let most = MAX_LINE_BYTES as u64 + 1;
        let read = (&mut self.reader).take(most).read_until(b'\n', &mut self.line).await?;
        self.position += read as u64;
        if self.line.ends_with(b"\n") || self.line.len() <= MAX_LINE_BYTES {
            return Ok(true);
        }
        loop {
            let rest = self.reader.fill_buf().await?;
            let end = rest.iter().position(|&byte| byte == b'\n').map(|index| index + 1);
            let skipped = end.unwrap_or(rest.len());
            let is_end = end.is_some() || rest.is_empty();
            self.reader.consume(skipped);
            self.position += skipped as u64;
            if is_end {
                return Ok(false);
            }
        }
    }

    /// The lines from the beginning again.
    pub(super) async fn rewind(self) -> io::Result<Self> {
        let mut file = match self.again {
            Again::No => return Err(io::ErrorKind::NotSeekable.into()),
            Again::File(file) => file,
            Again::Copy(copy) => copy.into_inner()?,
        };
        file.rewind()?;
        let length = file.metadata()?.len();
        let mut file = tokio::fs::File::from_std(file);
        file.rewind().await?;
        Ok(Self::new(Box::new(file), Some(length), Again::No))
    }
}

#[cfg(test)]
mod tests {
    use super::{Again, Lines, MAX_LINE_BYTES};
    use std::io::BufWriter;

    async fn all(lines: &mut Lines) -> Vec<(u64, Option<String>)> {
        let mut found = Vec::new();
        while let Some(line) = lines.next().await.expect("read") {
            let text = line.text.map(|text| String::from_utf8_lossy(text).into_owned());
            found.push((line.number, text));
        }
        found
    }

    #[tokio::test]
    async fn lines_are_numbered_and_a_pipe_is_read_twice() {
        let long = "x".repeat(MAX_LINE_BYTES * 40);
        let input = format!("a\r\n\n{long}\nb\n{}\n  \nend", "y".repeat(MAX_LINE_BYTES - 1));
        let copy = BufWriter::new(tempfile::tempfile().expect("a file"));
        let input = std::io::Cursor::new(input.into_bytes());
        let mut lines = Lines::new(Box::new(input), None, Again::Copy(copy));
        let first = all(&mut lines).await;
        let numbers: Vec<_> = first.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [1, 3, 4, 5, 7]);
        let texts: Vec<_> = first.iter().map(|(_, text)| text.as_ref().map(String::len)).collect();
        assert_eq!(texts, [Some(1), None, Some(1), Some(MAX_LINE_BYTES - 1), Some(3)]);
        let mut lines = lines.rewind().await.expect("rewound");
        assert!(lines.length.is_some_and(|length| length > 0));
        assert_eq!(all(&mut lines).await, first);
    }
}
