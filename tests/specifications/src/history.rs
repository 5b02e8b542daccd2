//! The model of what a credential grants, and the replay of recorded histories against it.
//!
//! [`group_commit`](crate::group_commit) refines this model. `tests/linearizability` records the
//! histories.
//!
//! A history has a line for each operation. Tabs separate the credential, its kind, `change` or
//! `read`, the time of the request, the time of the answer or `-`, and the role or `ended`. Where a
//! group is required, `member` and the like take the place of the role:
//!
//! ```text
//! ann 0   session   change   0      0      user
//! ann 0   session   change   1500   2100   ended
//! ann 0   session   read     1700   1900   user
//! ```
//!
//! The check of `tests/linearizability` takes reads one by one. A replay, in contrast, finds one
//! order for all of them: no read may return to a role after another read has seen the next one.

use stateright::{Checker as _, Model, Property, semantics::SequentialSpec};
use std::collections::{BTreeMap, BTreeSet};

/// The role that a credential grants, `None` if it has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Credential<R> {
    /// The role, `None` once it has ended.
    pub role: Option<R>,
    /// Whether the credential can grant a role again after its end, as API keys and passwords do
    /// when their user is enabled.
    pub revives: bool,
}

/// An operation on a credential.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step<R> {
    /// The credential grants this role from now on, or ends with `None`.
    Change(Option<R>),
    /// A client presents the credential, and receives the role or is refused.
    Read,
}

impl<R: Clone + PartialEq> SequentialSpec for Credential<R> {
    type Op = Step<R>;
    /// The role that a read receives; `None` for a change.
    type Ret = Option<R>;

    fn invoke(&mut self, step: &Step<R>) -> Option<R> {
        match step {
            Step::Read => return self.role.clone(),
            Step::Change(role) if self.revives || self.role.is_some() => self.role.clone_from(role),
            Step::Change(_) => {}
        }
        None
    }
}

#[derive(Clone, Debug)]
struct Operation {
    step: Step<String>,
    received: Option<String>,
    invoked: u64,
    /// When the operation was answered. `None` if it may or may not have happened.
    answered: Option<u64>,
}

/// The search for an order of the operations on one credential.
struct Replay {
    initial: Credential<String>,
    /// The operations, in the order of their requests.
    operations: Vec<Operation>,
}

/// A state of the search: which operations are in order, and what the credential grants after them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Ordered {
    /// All operations before this index are in order.
    prefix: usize,
    /// The operations after `prefix` that are in order, too.
    others: BTreeSet<usize>,
    /// How many answered operations are not in order yet.
    left: usize,
    credential: Credential<String>,
}

impl Replay {
    /// Returns the operations that may be next, because no other operation was answered before they
    /// were requested.
    fn next(&self, state: &Ordered) -> Vec<usize> {
        let (mut next, mut first_answer) = (Vec::new(), u64::MAX);
        for (index, operation) in self.operations.iter().enumerate().skip(state.prefix) {
            if operation.invoked > first_answer {
                break;
            }
            if !state.others.contains(&index) {
                next.push(index);
                first_answer = first_answer.min(operation.answered.unwrap_or(u64::MAX));
            }
        }
        next
    }

    fn is_explained_read(&self, state: &Ordered, index: usize) -> bool {
        let Operation { step, received, .. } = &self.operations[index];
        *step == Step::Read && *received == state.credential.role
    }
}

impl Model for Replay {
    type State = Ordered;
    type Action = usize;

    fn init_states(&self) -> Vec<Ordered> {
        let left = self
            .operations
            .iter()
            .filter(|it| it.answered.is_some())
            .count();
        let credential = self.initial.clone();
        vec![Ordered {
            prefix: 0,
            others: BTreeSet::new(),
            left,
            credential,
        }]
    }

    /// Offers the next operations. If the role of a read fits now, the read comes first: it changes
    /// nothing, so no order is lost.
    fn actions(&self, state: &Ordered, actions: &mut Vec<usize>) {
        let next = self.next(state);
        match next
            .iter()
            .find(|index| self.is_explained_read(state, **index))
        {
            Some(read) => actions.push(*read),
            None => actions.extend(
                next.into_iter()
                    .filter(|index| self.operations[*index].step != Step::Read),
            ),
        }
    }

    fn next_state(&self, state: &Ordered, index: usize) -> Option<Ordered> {
        let mut next = state.clone();
        next.credential.invoke(&self.operations[index].step);
        next.left -= usize::from(self.operations[index].answered.is_some());
        next.others.insert(index);
        while next.others.remove(&next.prefix) {
            next.prefix += 1;
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::sometimes("ordered", |_, state: &Ordered| state.left == 0),
            Property::sometimes("stuck", |replay: &Self, state: &Ordered| {
                let mut actions = Vec::new();
                replay.actions(state, &mut actions);
                actions.is_empty() && state.left > 0
            }),
        ]
    }
}

/// Replays a history and returns the number of its operations. The error names a malformed line, or
/// the operations that no order explains.
pub fn replay(history: &str) -> Result<usize, String> {
    let mut credentials = BTreeMap::<_, Vec<_>>::new();
    for line in history.lines() {
        let (credential, operation) = parse(line).ok_or(format!("malformed: {line:?}"))?;
        credentials.entry(credential).or_default().push(operation);
    }
    let mut count = 0;
    for ((name, kind), mut operations) in credentials {
        operations.sort_by_key(|operation| operation.invoked);
        count += operations.len();
        // The first line of a credential says what it grants in the beginning.
        let first = operations.remove(0);
        let Step::Change(role) = first.step else {
            return Err(format!("{name} begins with a read"));
        };
        let initial = Credential {
            role,
            revives: ["API key", "password"].contains(&kind),
        };
        let checker = Replay {
            initial,
            operations,
        }
        .checker()
        .spawn_bfs()
        .join();
        if checker.discovery("ordered").is_none() {
            let stuck = checker
                .discovery("stuck")
                .map(|path| path.last_state().clone());
            let stuck = stuck.ok_or("nothing was replayed")?;
            let next = checker.model().next(&stuck);
            let next: Vec<_> = next
                .iter()
                .map(|next| &checker.model().operations[*next])
                .collect();
            return Err(format!(
                "{name}: {:?} explains none of {next:?}",
                stuck.credential
            ));
        }
    }
    Ok(count)
}

/// Parses a line into the name and the kind of the credential, and an operation on it.
fn parse(line: &str) -> Option<((&str, &str), Operation)> {
    let mut fields = line.split('\t');
    let credential = (fields.next()?, fields.next()?);
    let operation = fields.next()?;
    let invoked = fields.next()?.parse().ok()?;
    let answered = fields.next()?;
    let answered = if answered == "-" {
        None
    } else {
        Some(answered.parse().ok()?)
    };
    let role = fields
        .next()
        .map(|role| (role != "ended").then(|| role.to_owned()))?;
    let (step, received) = match operation {
        "change" => (Step::Change(role), None),
        "read" => (Step::Read, role),
        _ => return None,
    };
    fields.next().is_none().then_some((
        credential,
        Operation {
            step,
            received,
            invoked,
            answered,
        },
    ))
}
