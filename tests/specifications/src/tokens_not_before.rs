//! `tokens_not_before` and clocks that step: what is revoked stays refused, and a login works right
//! after a revocation.
//!
//! Describes, of `auth-service/src`: `store/user_store/tokens/revocation.rs` (`GROW`, `REVOKE`, `LOWER`),
//! `tokens/access_token.rs` (`issue`, `is_revoked`, `is_valid_at`), `tokens/revocation.rs` (the seconds), and
//! `accounts/authenticator/login.rs` (a login waits).
//!
//! The model has fewer seconds than the product, in the same order of size. Failovers switch
//! between two servers whose clocks differ by one step (`offset`), and a third server, whose clock
//! is far ahead until its operator corrects it.
#![expect(missing_docs, reason = "fields and actions of a model")]

use crate::Specification;
use stateright::{Model, Property};

/// `MAX_CLOCK_SETBACK_SECONDS`, which is 2 in the product, and `REVOCATION_AHEAD_SECONDS`, which is
/// 3.
const STEP: u8 = 1;
const REVOCATION_AHEAD: u8 = 1 + STEP;
/// `MAX_ISSUE_AHEAD_SECONDS`, which is 30 in the product, and `MAX_EXTRA_SECONDS`, which is 60 and
/// thus more than the former and a step.
const MAX_LEAD: u8 = 2;
const MAX_EXTRA: u8 = 4;
/// How long a mark lasts: 86400 in the product, and longer than a clock stays wrong. `AHEAD` is how far
/// such a clock is ahead.
const MARKED: u8 = 9;
const AHEAD: u8 = 11;
const LAST_SECOND: u8 = 2;
const MAX_LOGINS: usize = 2;
const MAX_REVOCATIONS: usize = 4;

/// A fault that the product does not have. The specification must find each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// A revocation does not allow for a failover to a server whose clock is behind.
    LeadsByOneSecond,
    /// A revocation keeps a stored time that is late enough, instead of taking the next second.
    DoesNotGrow,
    /// A login issues a token of the present second, even if the stored time is later.
    IssuesNow,
    /// A login does not wait until the stored time is near.
    DoesNotWait,
    /// An admin's revocation always moves the stored time on, as one by the user does.
    GrowsForAdmins,
    /// The operator lowers the stored time without a mark.
    LowersWithoutMark,
    /// When the operator lowers the time again, the mark stays the same.
    RepeatsTheMark,
    /// A token that was revoked after its check still logs its user out.
    LogsOutUnchecked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token {
    /// The time at which the login read the user.
    at: u8,
    issued: u8,
    mark: u8,
    /// Whether the token must be refused. `None` if nothing is promised, because the clock of the
    /// login was ahead of the clock of the revocation.
    is_revoked: Option<bool>,
    /// The `tokens_not_before` that a logout with this token has read.
    seen: Option<u8>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    second: u8,
    offset: u8,
    was_ahead: bool,
    not_before: u8,
    marked_until: u8,
    tokens: Vec<Token>,
    revocations: usize,
    is_misused: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Tick,
    Failover(u8),
    Login,
    /// A logout with this token reads the user. It writes later, as [`Action::LogOut`].
    Authorize(usize),
    LogOut(usize),
    RevokeAsAdmin,
    RevokeAsOperator,
}

impl State {
    fn now(&self) -> u8 {
        self.second + self.offset
    }

    /// Models `VerifiedToken::is_valid_at`, apart from the expiry of the token, and `is_revoked`.
    fn accepts(&self, Token { issued, mark, .. }: Token) -> bool {
        let is_marked = issued >= self.marked_until || mark == self.marked_until;
        is_marked && (self.not_before..=self.now() + MAX_EXTRA).contains(&issued)
    }
}

impl Specification<Mistake> {
    fn must_wait(self, state: &State) -> bool {
        state.not_before > state.now() + MAX_LEAD && !self.has(Mistake::DoesNotWait)
    }

    fn revoke(self, state: &mut State, action: Action) {
        let (now, stored) = (state.now(), state.not_before);
        let lead = if self.has(Mistake::LeadsByOneSecond) {
            1
        } else {
            REVOCATION_AHEAD
        };
        let (soon, latest) = (now + lead, now + MAX_LEAD + STEP);
        let lowers = action == Action::RevokeAsOperator && stored > latest;
        let is_admin = action == Action::RevokeAsAdmin && !self.has(Mistake::GrowsForAdmins);
        state.not_before = match stored {
            _ if stored < soon || lowers => soon,
            _ if is_admin && stored > latest => stored,
            _ => stored + u8::from(!self.has(Mistake::DoesNotGrow)),
        };
        if lowers && !self.has(Mistake::LowersWithoutMark) {
            let other = state.marked_until + u8::from(!self.has(Mistake::RepeatsTheMark));
            state.marked_until = other.max(stored + MARKED);
        }
        let is_revoked = |token: usize| state.tokens[token].is_revoked == Some(true);
        state.is_misused |= matches!(action, Action::LogOut(token) if is_revoked(token));
        state.revocations += 1;
        for token in &mut state.tokens {
            let is_revoked = lowers || token.at <= now + STEP || token.is_revoked == Some(true);
            token.is_revoked = is_revoked.then_some(true);
        }
    }
}

impl Model for Specification<Mistake> {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::default()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let may_revoke = state.revocations < MAX_REVOCATIONS;
        let mut extend = |may, action| actions.extend(Some(action).filter(|_| may));
        extend(state.second < LAST_SECOND, Action::Tick);
        for offset in [0, STEP, STEP + AHEAD] {
            extend(offset != state.offset, Action::Failover(offset));
        }
        extend(
            state.tokens.len() < MAX_LOGINS && !self.must_wait(state),
            Action::Login,
        );
        extend(may_revoke, Action::RevokeAsAdmin);
        extend(may_revoke, Action::RevokeAsOperator);
        for (index, token) in state.tokens.iter().enumerate() {
            let is_unchecked = self.has(Mistake::LogsOutUnchecked);
            let logs_out = token
                .seen
                .is_some_and(|it| it == state.not_before || is_unchecked);
            extend(may_revoke && logs_out, Action::LogOut(index));
            extend(
                token.seen.is_none() && state.accepts(*token),
                Action::Authorize(index),
            );
        }
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let mut next = state.clone();
        match action {
            Action::Tick => next.second += 1,
            Action::Failover(offset) => {
                next.offset = offset;
                // No request takes so long that the clock is corrected meanwhile.
                if state.offset.max(offset) > STEP {
                    next.was_ahead = true;
                    next.tokens.iter_mut().for_each(|token| token.seen = None);
                }
            }
            Action::Login => {
                let (at, issues_now) = (state.now(), self.has(Mistake::IssuesNow));
                let issued = if issues_now {
                    at
                } else {
                    at.max(state.not_before)
                };
                let mark = if issued < state.marked_until {
                    state.marked_until
                } else {
                    0
                };
                next.tokens.push(Token {
                    at,
                    issued,
                    mark,
                    is_revoked: Some(false),
                    seen: None,
                });
                next.tokens.sort_unstable();
            }
            Action::Authorize(token) => next.tokens[token].seen = Some(state.not_before),
            _ => self.revoke(&mut next, action),
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("a revoked token is refused", |_, state: &State| {
                !state
                    .tokens
                    .iter()
                    .any(|it| it.is_revoked == Some(true) && state.accepts(*it))
            }),
            Property::always("a token is good until it is revoked", |_, state: &State| {
                let mut good = state
                    .tokens
                    .iter()
                    .filter(|it| it.is_revoked == Some(false));
                good.all(|token| state.accepts(*token) || token.at > state.now() + STEP)
            }),
            Property::always("a revoked token revokes nothing", |_, state: &State| {
                !state.is_misused
            }),
            // A clock that was wrong may lock a user out, so states after one are exempt.
            Property::always(
                "no revocation locks a user out for long",
                |_, state: &State| {
                    state.was_ahead || state.not_before <= state.now() + MAX_LEAD + 2 * STEP + 1
                },
            ),
            Property::sometimes("a login waits", |it: &Self, state: &State| {
                it.must_wait(state)
            }),
            Property::sometimes("a token with a mark is good", |_, state: &State| {
                state
                    .tokens
                    .iter()
                    .any(|token| token.mark > 0 && state.accepts(*token))
            }),
        ]
    }
}
