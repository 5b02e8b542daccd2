use super::*;
use std::time::Duration;

/// Returns a job of `iterations` for `client`, whose deadline is in a minute, and the receiver of its reply.
pub(crate) fn job(client: u128, iterations: u64) -> (Job, oneshot::Receiver<Reply>) {
    let deadline = Instant::now() + Duration::from_mins(1);
    let (job, receiver) = Job::new(b"secret", iterations, ClientKey(client), deadline);
    (
        Job {
            salt: [7; 16],
            ..job
        },
        receiver,
    )
}

#[test]
fn only_the_expected_digest_matches() {
    let (mut job, _receiver) = job(1, 16);
    assert!(
        !job.matches(&[0; 23]),
        "nothing matches without an expected digest"
    );
    job.expected = Some([3; 23]);
    assert!(job.matches(&[3; 23]));
    assert!(!job.matches(&[4; 23]));
}
