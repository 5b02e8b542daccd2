//! One hash computation: its password, its limits, and where its result is sent.

use std::net::IpAddr;
use std::time::Instant;

use futures_channel::oneshot;
use subtle::ConstantTimeEq;

use crate::lane::ExpandedPassword;
use crate::stored::Digest;
use crate::{EngineError, Stats, Timed};

/// Identifies the client that a job belongs to, so that waiting clients get equal shares of the engine,
/// however many jobs each has.
///
/// The engine only compares keys. The service derives a key from a client's address and decides what one
/// client is, for example by masking IPv6 addresses to their /64. The default key is for the service's
/// own work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientKey(pub u128);

impl From<IpAddr> for ClientKey {
    fn from(address: IpAddr) -> Self {
        Self(match address {
            IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
            IpAddr::V6(v6) => v6.to_bits(),
        })
    }
}

/// The result of a job: its digest, and whether the digest was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HashOutcome {
    pub(crate) digest: Digest,
    /// True if the digest equals the expected one of the job.
    pub(crate) matches: bool,
}

pub(crate) type Reply = Result<Timed<HashOutcome>, EngineError>;

/// A password to hash or to verify.
pub(crate) struct Job {
    pub(crate) password: ExpandedPassword,
    pub(crate) salt: [u8; 16],
    /// The number of iterations of the hash, which is 2^cost.
    pub(crate) iterations: u64,
    /// The minimum number of iterations of a failed verification, so that timing does not reveal that the
    /// stored hash has a lower cost.
    pub(crate) iterations_if_wrong: u64,
    /// The digest of the stored hash. It is `None` for a new hash and for a user who does not exist, so that no
    /// digest matches.
    pub(crate) expected: Option<Digest>,
    pub(crate) client: ClientKey,
    pub(crate) submitted: Instant,
    pub(crate) deadline: Instant,
    pub(crate) reply: oneshot::Sender<Reply>,
}

/// The facts about a job that decide whether it is admitted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AdmissionRequest {
    pub(crate) client: ClientKey,
    /// The work of the job in iterations.
    pub(crate) work: u64,
    /// The time at which the job should be finished, somewhat before its deadline.
    pub(crate) due: Instant,
}

impl AdmissionRequest {
    /// Creates a request that is due after four fifths of the time until the deadline. The last fifth is a
    /// reserve, because the machine may slow down after admission.
    pub(crate) fn new(client: ClientKey, work: u64, submitted: Instant, deadline: Instant) -> Self {
        let time = deadline.saturating_duration_since(submitted);
        Self {
            client,
            work,
            due: submitted + time / 5 * 4,
        }
    }
}

impl Job {
    /// Returns a job that hashes with a salt of zeros, and the receiver of its result. Callers set the real
    /// salt and, for a verification, the expected digest.
    pub(crate) fn new(
        password: &[u8],
        iterations: u64,
        client: ClientKey,
        deadline: Instant,
    ) -> (Self, oneshot::Receiver<Reply>) {
        let (reply, receiver) = oneshot::channel();
        let job = Self {
            password: ExpandedPassword::new(password),
            salt: [0; 16],
            iterations,
            iterations_if_wrong: 0,
            expected: None,
            client,
            submitted: Instant::now(),
            deadline,
            reply,
        };
        (job, receiver)
    }

    /// Returns the facts about this job that decide whether it is admitted.
    pub(crate) fn admission_request(&self) -> AdmissionRequest {
        AdmissionRequest::new(self.client, self.work(), self.submitted, self.deadline)
    }

    /// Returns the maximum number of iterations that the job can take. The queue and the estimates use this
    /// number.
    pub(crate) fn work(&self) -> u64 {
        self.iterations.max(self.iterations_if_wrong)
    }

    /// Compares `digest` with the expected one, in constant time. Returns `false` if none is expected.
    pub(crate) fn matches(&self, digest: &Digest) -> bool {
        let same = self.expected.unwrap_or_default().ct_eq(digest);
        self.expected.is_some() & bool::from(same)
    }

    /// Returns `true` while the caller waits for the job and the deadline has not passed.
    pub(crate) fn is_live(&self, now: Instant) -> bool {
        !self.reply.is_canceled() && now < self.deadline
    }

    /// Completes a job without a result. It counts as expired, or as dropped if its caller has left.
    pub(crate) fn discard(self, counters: &mut Stats) {
        match self.reply.send(Err(EngineError::DeadlinePassed)) {
            Ok(()) => counters.expired += 1,
            // The caller has dropped the future.
            Err(_unsent) => counters.dropped += 1,
        }
    }

    /// Completes the job with this reply, which is lost if the caller has dropped the receiver.
    pub(crate) fn answer(self, reply: Reply) {
        let _ = self.reply.send(reply);
    }
}

#[cfg(test)]
pub(crate) mod tests;
