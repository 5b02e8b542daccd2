//! Common passwords, which users may not choose.
//!
//! - `digests`: reads them from a file.
//! - `file`: `PASSWORD_BLOCKLIST_FILE`, which can be read again.

mod digests;
mod file;

pub use file::BlocklistFile;

use digests::{BlocklistError, Digest, for_each};
use std::{
    fs::File,
    io::{Seek as _, SeekFrom},
    path::Path,
};

/// The first two bytes of a digest choose a bucket.
const BUCKETS: usize = 1 << 16;

/// The other bytes of a digest.
type Rest = [u8; 6];

/// 64 bits of the SHA-1 digest of each password: 6 bytes an entry and 512 KiB in all. A password that is
/// not listed is taken for one that is with a probability of 2⁻⁶⁴ for each entry.
pub(crate) struct Blocklist {
    /// Where each bucket begins, and the end of the last.
    starts: Vec<usize>,
    /// Sorted within each bucket.
    rests: Vec<Rest>,
}

impl Blocklist {
    /// Reads the file twice, to count and to keep, so that nothing else takes memory.
    pub(crate) fn read(path: &Path) -> Result<Self, BlocklistError> {
        let mut file = digests::open(path)?;
        let mut starts = vec![0; BUCKETS + 1];
        for_each(&file, |digest| starts[bucket(digest) + 1] += 1)?;
        for bucket in 0..BUCKETS {
            starts[bucket + 1] += starts[bucket];
        }
        let mut rests = vec![Rest::default(); starts[BUCKETS]];
        if rests.is_empty() {
            return Err(BlocklistError::Empty);
        }
        fill(&mut file, &starts, &mut rests)?;
        for bucket in 0..BUCKETS {
            rests[starts[bucket]..starts[bucket + 1]].sort_unstable();
        }
        Ok(Self { starts, rests })
    }

    pub(crate) fn contains(&self, password: &str) -> bool {
        let digest = digests::of_password(password.as_bytes());
        let bucket = bucket(digest);
        let rests = &self.rests[self.starts[bucket]..self.starts[bucket + 1]];
        rests.binary_search(&rest(digest)).is_ok()
    }

    /// Lines of the file that are passwords or digests.
    pub(crate) fn len(&self) -> usize {
        self.rests.len()
    }
}

/// Puts each digest into its bucket. A file that changed between both reads fits no longer.
fn fill(file: &mut File, starts: &[usize], rests: &mut [Rest]) -> Result<(), BlocklistError> {
    file.seek(SeekFrom::Start(0))?;
    let mut next = starts.to_vec();
    let mut fits = true;
    for_each(file, |digest| {
        let bucket = bucket(digest);
        if next[bucket] < starts[bucket + 1] {
            rests[next[bucket]] = rest(digest);
            next[bucket] += 1;
        } else {
            fits = false;
        }
    })?;
    if fits && next[..BUCKETS] == starts[1..] { Ok(()) } else { Err(BlocklistError::Changed) }
}

fn bucket([first, second, ..]: Digest) -> usize {
    usize::from(first) << 8 | usize::from(second)
}

fn rest([_, _, rest @ ..]: Digest) -> Rest {
    rest
}

#[cfg(test)]
mod tests;
