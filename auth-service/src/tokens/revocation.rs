//! The bounds in time of a revocation. Each of them moves `tokens_not_before`, the time before which the access tokens of
//! a user are not valid.

/// The maximum time by which a token may be issued ahead of the clock, in seconds.
///
/// Each revocation moves `tokens_not_before` ahead of the clock, so several in a row add up. A
/// login then waits until `tokens_not_before` is at most this far ahead, and fails if its deadline
/// comes first.
pub(crate) const MAX_ISSUE_AHEAD_SECONDS: u64 = 30;

/// The maximum number of seconds by which the clock may go back when PostgreSQL fails over to
/// another server.
pub(crate) const MAX_CLOCK_SETBACK_SECONDS: u64 = 2;

/// The number of seconds by which a revocation sets `tokens_not_before` ahead of the clock.
///
/// The resulting time is later than that of every token that was dated by the clock, even in the
/// current second. Before a failover, the clock of another server may have been ahead. `store/user_store/tokens/revocation`
/// has the rules for an old `tokens_not_before` that is later still.
pub(crate) const REVOCATION_AHEAD_SECONDS: u64 = 1 + MAX_CLOCK_SETBACK_SECONDS;
