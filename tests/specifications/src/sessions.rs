//! Sessions at two replicas: an end is final, no session lives idle or too long, and a session in
//! use stays valid.
//!
//! Describes, of `auth-service/src`: `accounts/authorizer.rs` and `accounts/authorizer/idle.rs` (a
//! decision, and the end of idle sessions), `tokens/bearer.rs` (`is_active_at`), and
//! `store/user_store/{tokens,usage_writer}.rs` (uses are written once a minute).
//!
//! The clock counts minutes, fewer than those of the product. Once, either the clock steps back or
//! the store cannot write for a while. Both replicas notice a failing store, because each writes
//! once a minute that it could write. The stored pauses of `usage_pause.rs`, which also cover
//! restarts, are not modeled: they end no session.
#![expect(
    missing_docs,
    clippy::struct_excessive_bools,
    reason = "fields and actions of a model"
)]

use crate::Specification;
use stateright::{Model, Property};

/// `SESSION_IDLE_SECONDS` and `SESSION_MAX_SECONDS`, in minutes of the model, and `SUCCESSES` of
/// `usage_writer.rs`.
const IDLE: u8 = 4;
const MAX: u8 = 6;
const SUCCESSES: u8 = 2;
/// How much earlier than `IDLE` a session may end: a use is written up to a minute later, and
/// another replica notices up to a minute later that it cannot write.
const EARLY: u8 = 2;
const LAST_MINUTE: u8 = 6;
const STEP_BACK: u8 = 2;

/// The names of the properties.
const FINAL: &str = "no session that was ended lives again";
const NOT_IDLE: &str = "no session lives idle";
const NOT_OLD: &str = "no session lives too long";
const IN_USE: &str = "a session in use goes on";
const LASTS: &str = "a session in use lasts while the store cannot write";

/// A fault that the product does not have. The specification must find each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// An idle session is refused, but its row stays.
    RefusesWithoutDeleting,
    /// The row of an idle session is deleted even if another replica has written a use meanwhile.
    DeletesBlindly,
    /// A refusal is noted as if it were a use.
    NotesRefusals,
    /// A session in use idles out while no use can be written.
    ForgetsFailedWrites,
    /// After one successful write, a replica assumes that the other one has written, too.
    CountsOneWrite,
    /// A use moves the end of the session.
    MovesTheEnd,
    /// A session that sets a new password keeps its old not-before time and is thus revoked.
    KeepsItsNotBefore,
}

/// The session's row in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    last_used: u8,
    expires: u8,
    /// Whether the session has the not-before time of its user.
    is_current: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    now: u8,
    /// Which replica writes next. After both have written, a minute passes.
    turn: usize,
    is_read_only: bool,
    was_disturbed: bool,
    was_revoked: bool,
    row: Option<Row>,
    noted: [Option<u8>; 2],
    /// For each replica, the time of the first use that it could not write, and how many writes
    /// must succeed before it trusts the stored uses again.
    failing: [Option<(u8, u8)>; 2],
    /// A decision in progress: the replica, the row that it read, and whether the session had ended
    /// by then.
    read: Option<(usize, Option<Row>, bool)>,
    /// The time of the last use, whether the session was unused for too long between two uses, and
    /// whether it has ended.
    used: u8,
    was_unused: bool,
    is_ended: bool,
    broken: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Wait,
    StepBack,
    SetReadOnly(bool),
    Read(usize),
    Decide,
    /// A new password. With `true`, the session that sets it survives.
    Revoke(bool),
}

impl Specification<Mistake> {
    /// Models `UsageWriter::write`. Another session, which is in use, makes the replica write even
    /// without a use of this one.
    fn write_uses(self, state: &mut State, replica: usize) {
        let (noted, failing) = (&mut state.noted[replica], &mut state.failing[replica]);
        if state.is_read_only {
            let since = failing.map_or(noted.unwrap_or(state.now), |(since, _)| since);
            *failing = Some((
                since,
                if self.has(Mistake::CountsOneWrite) {
                    1
                } else {
                    SUCCESSES
                },
            ));
            return;
        }
        *failing = failing
            .map(|(since, left)| (since, left - 1))
            .filter(|(_, left)| *left > 0);
        if let Some((row, used)) = state.row.as_mut().zip(noted.take()) {
            row.last_used = row.last_used.max(used);
            row.expires = if self.has(Mistake::MovesTheEnd) {
                used + MAX
            } else {
                row.expires
            };
        }
    }

    /// Models `Authorizer::end_idle_sessions`. Returns whether the session has ended.
    fn end_if_idle(self, state: &mut State, replica: usize, row: Row) -> bool {
        let now = state.now;
        let in_use = |last: u8| now < last + IDLE && last < now + IDLE;
        let last = row.last_used.max(state.noted[replica].unwrap_or(0));
        let failing = state.failing[replica].filter(|_| !self.has(Mistake::ForgetsFailedWrites));
        let is_idle =
            !in_use(last) && failing.is_none_or(|(since, _)| last > now || last + IDLE <= since);
        if !is_idle || state.is_read_only || self.has(Mistake::RefusesWithoutDeleting) {
            return is_idle;
        }
        state.row = state
            .row
            .filter(|it| in_use(it.last_used) && !self.has(Mistake::DeletesBlindly));
        state.row.is_none()
    }

    fn decide(self, state: &mut State) {
        let Some((replica, row, was_ended)) = state.read.take() else {
            return;
        };
        let is_idle = row.is_some_and(|row| self.end_if_idle(state, replica, row));
        let now = state.now;
        let is_good = row.is_some_and(|row| now < row.expires && row.is_current) && !is_idle;
        let was_unused = state.was_unused || now >= state.used + IDLE - EARLY;
        let knows_all = state.failing[replica].is_none();
        state.broken = match is_good {
            true if was_ended => Some(FINAL),
            true if now >= MAX => Some(NOT_OLD),
            true if now >= state.used + IDLE && knows_all => Some(NOT_IDLE),
            false if now < MAX && !was_unused && !state.is_ended => Some(IN_USE),
            _ => None,
        };
        if is_good || self.has(Mistake::NotesRefusals) {
            state.noted[replica] = state.noted[replica].max(Some(now));
        }
        if is_good {
            (state.used, state.was_unused) = (state.used.max(now), was_unused);
        }
        // An idle session that cannot be deleted is refused now, but has not ended for good.
        state.is_ended |= is_idle && !state.is_read_only;
    }
}

impl Model for Specification<Mistake> {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let row = Row {
            last_used: 0,
            expires: MAX,
            is_current: true,
        };
        vec![State {
            row: Some(row),
            ..State::default()
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        // A decision takes less than a minute and does not outlast a failover.
        let idle = state.read.is_none();
        let may_revoke = !state.is_read_only && !state.was_revoked;
        let mut extend = |may, action| actions.extend(Some(action).filter(|_| may));
        extend(idle, Action::Read(0));
        extend(idle, Action::Read(1));
        extend(!idle, Action::Decide);
        extend(
            state.turn < 2 || idle && state.now < LAST_MINUTE,
            Action::Wait,
        );
        extend(
            idle && !state.was_disturbed && state.now >= STEP_BACK,
            Action::StepBack,
        );
        extend(!state.was_disturbed, Action::SetReadOnly(true));
        extend(state.is_read_only, Action::SetReadOnly(false));
        extend(may_revoke, Action::Revoke(true));
        extend(may_revoke, Action::Revoke(false));
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let mut next = *state;
        match action {
            Action::Wait if state.turn == 2 => (next.turn, next.now) = (0, state.now + 1),
            Action::Wait => {
                self.write_uses(&mut next, state.turn);
                next.turn += 1;
            }
            Action::StepBack => (next.now, next.was_disturbed) = (state.now - STEP_BACK, true),
            Action::SetReadOnly(it) => (next.is_read_only, next.was_disturbed) = (it, true),
            Action::Read(replica) => next.read = Some((replica, state.row, state.is_ended)),
            Action::Decide => self.decide(&mut next),
            Action::Revoke(keeps) => {
                let is_current = !self.has(Mistake::KeepsItsNotBefore);
                next.row = state
                    .row
                    .filter(|_| keeps)
                    .map(|row| Row { is_current, ..row });
                (next.is_ended, next.was_revoked) = (state.is_ended || !keeps, true);
            }
        }
        state.broken.is_none().then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(FINAL, |_, state: &State| state.broken != Some(FINAL)),
            Property::always(NOT_IDLE, |_, state: &State| state.broken != Some(NOT_IDLE)),
            Property::always(NOT_OLD, |_, state: &State| state.broken != Some(NOT_OLD)),
            Property::always(IN_USE, |_, state: &State| state.broken != Some(IN_USE)),
            Property::sometimes(LASTS, |_, state: &State| {
                state.is_read_only && state.used > IDLE
            }),
        ]
    }
}
