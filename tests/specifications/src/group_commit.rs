//! Reads by group commit with quorum are linearizable, even while two servers take themselves for
//! the primary.
//!
//! Describes `crates/batcher/src/{batcher,queue}.rs` (which batch a request joins, and how many
//! batches there are), and of `crates/sql-store/src`: `batched_reads.rs`, `read_consistency.rs`,
//! `postgres/{primary,pool/writes}.rs`.
//!
//! Two readers ask once each. A writer sets role 1 and then 2, and does not always wait for the
//! answer. Timelines are left out, because they only shorten the time in which a process asks a
//! former primary.
#![expect(missing_docs, reason = "fields and actions of a model")]

use crate::Specification;
use crate::history::{Credential, Step};
use stateright::semantics::{ConsistencyTester as _, LinearizabilityTester};
use stateright::{Model, Property};

const OLD: usize = 0;
const NEW: usize = 1;
const READERS: usize = 2;
const LAST_ROLE: u8 = 2;

/// A fault that the product does not have. The specification must find each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// A request joins a batch that has already been sent.
    JoinsABatchInFlight,
    /// No further batch is sent while one is stalled.
    WaitsForAStalledBatch,
    /// The rows of every server that takes itself for the primary count, as with
    /// `DATABASE_READS=primary`.
    BelievesAPrimary,
    /// The message is committed before the statement that reads, instead of after it.
    SendsTheMessageFirst,
    /// Commits do not wait for a standby, as with an empty `synchronous_standby_names`.
    CommitsAlone,
    /// The operator promotes a standby that still receives from the former primary.
    PromotesAReceiver,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Batch {
    server: usize,
    readers: Vec<usize>,
    /// The role that the statement has read. `message` is the position of its message in the WAL.
    snapshot: Option<u8>,
    message: Option<usize>,
    is_answered: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    /// The write-ahead log of each server: roles, and messages as `None`. The log of the new
    /// primary begins as a copy.
    wal: [Vec<Option<u8>>; 2],
    /// How many records of the old primary the standby has received. Of these, the old primary
    /// knows about the `acknowledged` ones.
    received: usize,
    acknowledged: usize,
    is_promoted: bool,
    /// Set after a restart of the old primary, which then shows changes that the standby has not
    /// received.
    is_restarted: bool,
    asked: usize,
    waiting: Vec<usize>,
    batches: Vec<Batch>,
    /// The role that the last change set. `change` is its server and its position in the log.
    last_role: u8,
    change: Option<(usize, usize)>,
    history: LinearizabilityTester<usize, Credential<u8>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Ask,
    Send(usize),
    /// Lets the statement of a batch take its next step.
    Proceed(usize),
    Change(usize),
    Confirm,
    Receive,
    Acknowledge,
    Promote,
    Restart,
}

impl Specification<Mistake> {
    /// Returns how many records the server has committed. The new primary has a standby that keeps
    /// up.
    fn committed(self, state: &State, server: usize) -> usize {
        let is_alone = server == NEW || self.has(Mistake::CommitsAlone);
        if is_alone {
            state.wal[server].len()
        } else {
            state.acknowledged
        }
    }

    fn role(self, state: &State, server: usize) -> u8 {
        let sees_all = server == OLD && state.is_restarted;
        let seen = if sees_all {
            usize::MAX
        } else {
            self.committed(state, server)
        };
        state.wal[server]
            .iter()
            .take(seen)
            .rev()
            .find_map(|record| *record)
            .unwrap_or(0)
    }
}

impl Model for Specification<Mistake> {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let history = LinearizabilityTester::new(Credential {
            role: Some(0),
            revives: true,
        });
        vec![State {
            history,
            ..State::default()
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let in_flight = state
            .batches
            .iter()
            .filter(|batch| !batch.is_answered)
            .count();
        let has_place = in_flight
            < if self.has(Mistake::WaitsForAStalledBatch) {
                1
            } else {
                2
            };
        let is_receiving = !state.is_promoted || self.has(Mistake::PromotesAReceiver);
        let mut extend = |may, action| actions.extend(Some(action).filter(|_| may));
        extend(state.asked < READERS, Action::Ask);
        for server in [OLD, NEW] {
            let is_primary = server == OLD || state.is_promoted;
            extend(
                is_primary && has_place && !state.waiting.is_empty(),
                Action::Send(server),
            );
            extend(
                is_primary && state.last_role < LAST_ROLE,
                Action::Change(server),
            );
        }
        for (index, batch) in state.batches.iter().enumerate() {
            let may = batch
                .message
                .is_none_or(|it| it < self.committed(state, batch.server));
            extend(may && !batch.is_answered, Action::Proceed(index));
        }
        let is_committed = |(server, it)| it < self.committed(state, server);
        extend(state.change.is_some_and(is_committed), Action::Confirm);
        extend(
            is_receiving && state.received < state.wal[OLD].len(),
            Action::Receive,
        );
        // The acknowledgment may also concern records that arrived at the standby before its
        // promotion.
        extend(state.acknowledged < state.received, Action::Acknowledge);
        extend(!state.is_promoted, Action::Promote);
        extend(!state.is_restarted, Action::Restart);
    }

    #[expect(
        clippy::too_many_lines,
        reason = "the transitions of a model, one by one"
    )]
    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let mut next = state.clone();
        let writer = READERS + usize::from(state.last_role);
        match action {
            Action::Ask => {
                next.asked += 1;
                next.history.on_invoke(state.asked, Step::Read).ok()?;
                let in_flight = next.batches.iter_mut().find(|batch| !batch.is_answered);
                let joined = in_flight.filter(|_| self.has(Mistake::JoinsABatchInFlight));
                joined
                    .map_or(&mut next.waiting, |it| &mut it.readers)
                    .push(state.asked);
            }
            Action::Send(server) => {
                let readers = std::mem::take(&mut next.waiting);
                let is_early = self.has(Mistake::SendsTheMessageFirst);
                next.wal[server].extend(is_early.then_some(None));
                let message = is_early.then_some(state.wal[server].len());
                let snapshot = (!is_early).then(|| self.role(state, server));
                next.batches.push(Batch {
                    server,
                    readers,
                    snapshot,
                    message,
                    is_answered: false,
                });
            }
            Action::Proceed(index) => {
                let Batch {
                    server,
                    readers,
                    snapshot,
                    message,
                    ..
                } = &state.batches[index];
                let batch = &mut next.batches[index];
                if snapshot.is_none() {
                    batch.snapshot = Some(self.role(state, *server));
                } else if message.is_none() && !self.has(Mistake::BelievesAPrimary) {
                    batch.message = Some(state.wal[*server].len());
                    next.wal[*server].push(None);
                } else {
                    batch.is_answered = true;
                    for reader in readers {
                        next.history.on_return(*reader, *snapshot).ok()?;
                    }
                }
            }
            Action::Change(server) => {
                next.last_role += 1;
                let role = Some(next.last_role);
                next.history
                    .on_invoke(writer + 1, Step::Change(role))
                    .ok()?;
                next.change = Some((server, state.wal[server].len()));
                next.wal[server].push(role);
            }
            Action::Confirm => drop(next.history.on_return(writer, None).ok()?),
            Action::Receive => {
                next.received += 1;
                next.wal[NEW].extend((!state.is_promoted).then(|| state.wal[OLD][state.received]));
            }
            Action::Acknowledge => next.acknowledged = state.received,
            Action::Promote => next.is_promoted = true,
            Action::Restart => next.is_restarted = true,
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("answers are linearizable", |_, it: &State| {
                it.history.is_consistent()
            }),
            Property::eventually("each request is answered or cut off", |_, state: &State| {
                let is_lost = |it: &Batch| it.server == OLD && it.message >= Some(state.received);
                let is_done = |it: &&Batch| it.is_answered || state.is_promoted && is_lost(it);
                let done = state
                    .batches
                    .iter()
                    .filter(is_done)
                    .map(|it| it.readers.len());
                done.sum::<usize>() == READERS
            }),
            Property::sometimes("one statement answers two requests", |_, state: &State| {
                state
                    .batches
                    .iter()
                    .any(|it| it.is_answered && it.readers.len() == 2)
            }),
            Property::sometimes("a successor answers its change", |_, state: &State| {
                let answer = (NEW, true, Some(LAST_ROLE));
                state
                    .batches
                    .iter()
                    .any(|it| (it.server, it.is_answered, it.snapshot) == answer)
            }),
        ]
    }
}
