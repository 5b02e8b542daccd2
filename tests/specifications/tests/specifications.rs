//! Each specification holds, and finds each of its planted mistakes.

use specifications::{Specification, group_commit, proof, sessions, tokens_not_before};
use stateright::{Checker as _, HasDiscoveries, Model, Property};
use std::{collections::BTreeMap, fmt::Debug, hash::Hash};

/// Returns the properties that do not hold. Each has the actions that lead to a counterexample, if
/// there is one.
fn failures<M>(mistake: Option<M>, finish: HasDiscoveries) -> BTreeMap<&'static str, String>
where
    Specification<M>: Model<State: Clone + Debug + Hash + PartialEq + Send + Sync>,
    Specification<M>: Model<Action: Clone + Debug + PartialEq>,
    M: Send + Sync + 'static,
{
    let is_planted = mistake.is_some();
    let checker = Specification(mistake)
        .checker()
        .finish_when(finish)
        .spawn_bfs()
        .join();
    let properties = checker.model().properties().into_iter();
    let failed = properties.filter_map(
        |Property {
             name, expectation, ..
         }| {
            let discovery = checker
                .discovery(name)
                .map(|path| format!("{:?}", path.into_actions()));
            let has_failed = discovery.is_some() == expectation.discovery_is_failure();
            has_failed.then(|| (name, discovery.unwrap_or_default()))
        },
    );
    let failed: BTreeMap<_, _> = failed.collect();
    if is_planted {
        proof(
            "rules",
            &[("planted mistakes", 1)],
            &[("found", usize::from(!failed.is_empty()))],
        );
    } else {
        let states = checker.unique_state_count();
        proof(
            "rules",
            &[("states", states)],
            &[("against a rule", failed.len())],
        );
    }
    failed
}

#[test]
fn reads_by_group_commit_are_linearizable_with_two_primaries() {
    assert_eq!(
        failures(None::<group_commit::Mistake>, HasDiscoveries::All),
        BTreeMap::new()
    );
}

#[test]
fn mistakes_of_group_commit_are_found() {
    use group_commit::Mistake;
    let stale = "answers are linearizable";
    for (mistake, property) in [
        (Mistake::JoinsABatchInFlight, stale),
        (
            Mistake::WaitsForAStalledBatch,
            "each request is answered or cut off",
        ),
        (Mistake::BelievesAPrimary, stale),
        (Mistake::SendsTheMessageFirst, stale),
        (Mistake::CommitsAlone, stale),
        (Mistake::PromotesAReceiver, stale),
    ] {
        let failures = failures(Some(mistake), HasDiscoveries::AllOf([property].into()));
        assert!(failures.contains_key(property), "{mistake:?}: {failures:?}");
    }
}

#[test]
fn revoked_tokens_stay_refused_and_logins_work_while_clocks_step() {
    assert_eq!(
        failures(None::<tokens_not_before::Mistake>, HasDiscoveries::All),
        BTreeMap::new()
    );
}

#[test]
fn mistakes_of_tokens_not_before_are_found() {
    use tokens_not_before::Mistake;
    let refused = "a revoked token is refused";
    for (mistake, property) in [
        (Mistake::LeadsByOneSecond, refused),
        (Mistake::DoesNotGrow, refused),
        (Mistake::IssuesNow, "a token is good until it is revoked"),
        (Mistake::DoesNotWait, refused),
        (
            Mistake::GrowsForAdmins,
            "no revocation locks a user out for long",
        ),
        (Mistake::LowersWithoutMark, refused),
        (Mistake::RepeatsTheMark, refused),
        (Mistake::LogsOutUnchecked, "a revoked token revokes nothing"),
    ] {
        let failures = failures(Some(mistake), HasDiscoveries::AllOf([property].into()));
        assert!(failures.contains_key(property), "{mistake:?}: {failures:?}");
    }
}

#[test]
fn sessions_end_for_good_and_go_on_in_use_at_two_replicas() {
    assert_eq!(
        failures(None::<sessions::Mistake>, HasDiscoveries::All),
        BTreeMap::new()
    );
}

#[test]
fn mistakes_of_sessions_are_found() {
    use sessions::Mistake;
    let goes_on = "a session in use goes on";
    for (mistake, property) in [
        (
            Mistake::RefusesWithoutDeleting,
            "no session that was ended lives again",
        ),
        (Mistake::DeletesBlindly, goes_on),
        (Mistake::NotesRefusals, "no session lives idle"),
        (Mistake::ForgetsFailedWrites, goes_on),
        (Mistake::CountsOneWrite, goes_on),
        (Mistake::MovesTheEnd, "no session lives too long"),
        (Mistake::KeepsItsNotBefore, goes_on),
    ] {
        let failures = failures(Some(mistake), HasDiscoveries::AllOf([property].into()));
        assert!(failures.contains_key(property), "{mistake:?}: {failures:?}");
    }
}
