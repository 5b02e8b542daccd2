//! One hash computation, from the queue to its result.

use std::net::IpAddr;
use std::time::Instant;

use futures_channel::oneshot;
use subtle::ConstantTimeEq;

use crate::lane::ExpandedPassword;
use crate::stored::Digest;
use crate::{EngineError, Stats, Timed};

/// The client that a job is accounted to: waiting clients get equal shares of the engine, however
/// many jobs each has.
///
/// Opaque to the engine. The service derives it from a client's address and decides what one client
/// is, for example by masking IPv6 addresses to their /64. The default key is for the service's own
/// work.
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

/// What a job has computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HashOutcome {
    pub(crate) digest: Digest,
    /// Whether the digest equals the expected one.
    pub(crate) matches: bool,
}

pub(crate) type Reply = Result<Timed<HashOutcome>, EngineError>;

/// A password to hash or to verify.
pub(crate) struct Job {
    pub(crate) password: ExpandedPassword,
    pub(crate) salt: [u8; 16],
    /// 2^cost.
    pub(crate) iterations: u64,
    /// Minimum work of a failed verification, so that timing does not reveal hashes of a lower cost.
    pub(crate) iterations_if_wrong: u64,
    /// `None` for a new hash and for dummy work: nothing matches.
    pub(crate) expected: Option<Digest>,
    pub(crate) client: ClientKey,
    pub(crate) submitted: Instant,
    pub(crate) deadline: Instant,
    pub(crate) reply: oneshot::Sender<Reply>,
}

/// What admission control must know about a job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AdmissionRequest {
    pub(crate) client: ClientKey,
    /// Iterations.
    pub(crate) work: u64,
    /// When the job should be finished: some time before its deadline.
    pub(crate) due: Instant,
}

impl AdmissionRequest {
    /// Keeps a fifth of the time as a reserve for a machine that slows down after admission.
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
    /// A hash with a salt of zeros to compute, and the receiver of its result.
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

    /// What admission control needs to know about it.
    pub(crate) fn admission_request(&self) -> AdmissionRequest {
        AdmissionRequest::new(self.client, self.work(), self.submitted, self.deadline)
    }

    /// The maximum number of iterations, used for queueing and estimates.
    pub(crate) fn work(&self) -> u64 {
        self.iterations.max(self.iterations_if_wrong)
    }

    /// Whether `digest` is the expected one, in constant time.
    pub(crate) fn matches(&self, digest: &Digest) -> bool {
        let same = self.expected.unwrap_or_default().ct_eq(digest);
        self.expected.is_some() & bool::from(same)
    }

    /// Whether the caller waits for the job, and its deadline has not passed.
    pub(crate) fn is_live(&self, now: Instant) -> bool {
        !self.reply.is_canceled() && now < self.deadline
    }

    /// Gives up a job that is not worth computing, and counts it.
    pub(crate) fn discard(self, counters: &mut Stats) {
        match self.reply.send(Err(EngineError::DeadlinePassed)) {
            Ok(()) => counters.expired += 1,
            // The caller has dropped the future.
            Err(_unsent) => counters.dropped += 1,
        }
    }

    /// Completes the job. The receiver may be gone.
    pub(crate) fn answer(self, reply: Reply) {
        let _ = self.reply.send(reply);
    }
}

#[cfg(test)]
pub(crate) mod tests;
