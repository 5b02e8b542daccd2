//! What a credential grants, as one machine: [`group_commit`](crate::group_commit) refines it, and
//! histories of `tests/linearizability` are replayed against it.
//!
//! A history has a line for each operation, with tabs between credential, kind of the credential,
//! `change` or `read`, time of the request, time of the answer or `-`, and role or `ended`:
//!
//! ```text
//! ann 0   session   change   0      0      user
//! ann 0   session   change   1500   2100   ended
//! ann 0   session   read     1700   1900   user
//! ```
//!
//! Unlike the check of `tests/linearizability`, which takes reads one by one, a replay finds one order
//! for all of them: no read may return to a role after another has seen the next one.

use stateright::{Checker as _, Model, Property, semantics::SequentialSpec};
use std::collections::{BTreeMap, BTreeSet};

/// The role that a credential grants, `None` if it has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Credential<R> {
    /// The role, `None` once it has ended.
    pub role: Option<R>,
    /// Whether it grants a role again after its end: API keys do when their user is enabled.
    pub revives: bool,
}

/// An operation on a credential.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step<R> {
    /// It grants this role, or ends.
    Change(Option<R>),
    /// Somebody presents it, and receives the role, or is refused.
    Read,
}

impl<R: Clone + PartialEq> SequentialSpec for Credential<R> {
    type Op = Step<R>;
    /// What a read receives; of a change `None`.
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
    /// `None` if it may have happened or not.
    answered: Option<u64>,
}

/// The search for an order of the operations on one credential.
struct Replay {
    initial: Credential<String>,
    /// By the time of the request.
    operations: Vec<Operation>,
}

/// What has been put in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Ordered {
    /// All before this one.
    prefix: usize,
    /// Those after it.
    others: BTreeSet<usize>,
    /// What is left of those that were answered.
    left: usize,
    credential: Credential<String>,
}

impl Replay {
    /// The operations that may be next: no other was answered before they were requested.
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

    /// A read changes nothing, so one that is explained now may come first in any case.
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

/// Replays a history and returns the number of its operations; an error names those that no order
/// explains, or a malformed line.
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
        // The history of a credential begins with what it grants at first.
        let first = operations.remove(0);
        let Step::Change(role) = first.step else {
            return Err(format!("{name} begins with a read"));
        };
        let initial = Credential {
            role,
            revives: kind == "API key",
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

/// A credential, as name and kind, and an operation on it.
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
