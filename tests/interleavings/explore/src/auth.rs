//! The scenarios of auth-service: shared checks of credentials, rate limits, and password checks on threads of their
//! own.

use crate::runs::Scenario;
use interleaved_auth::{checks, limits, sharing};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "sharing::equal_checks_are_one",
        property: "equal checks at the same time are one hash",
        run: sharing::equal_checks_are_one,
    },
    Scenario {
        name: "sharing::failures_are_not_shared",
        property: "a check that fails concerns only its caller, and no other waits for ever",
        run: sharing::failures_are_not_shared,
    },
    Scenario {
        name: "sharing::leaving_caller_is_replaced",
        property: "when the caller that checks leaves, one that waits checks instead, one at a time",
        run: sharing::leaving_caller_is_replaced,
    },
    Scenario {
        name: "sharing::one_hit_is_audited",
        property: "of concurrent hits, one is the first of its minute",
        run: sharing::one_hit_is_audited,
    },
    Scenario {
        name: "limits::attempts_keep_the_limit",
        property: "attempts in progress and failed ones keep the limit, and each is refunded once",
        run: limits::attempts_keep_the_limit,
    },
    Scenario {
        name: "limits::full_window_refuses_checks",
        property: "a full window refuses checks, whatever a check beside it found",
        run: limits::full_window_refuses_checks,
    },
    Scenario {
        name: "limits::one_refusal_is_first",
        property: "of concurrent refusals, one is the first of its window",
        run: limits::one_refusal_is_first,
    },
    Scenario {
        name: "checks::wait_for_a_place",
        property: "as many checks run at a time as may, and all are answered",
        run: checks::checks_wait_for_a_place,
    },
    Scenario {
        name: "checks::leaving_callers",
        property: "a caller that leaves keeps no place, and takes none from others",
        run: checks::leaving_callers_free_their_places,
    },
    Scenario {
        name: "checks::expired",
        property: "each check is completed or expired once, and one that expires keeps no place",
        run: checks::expired_checks_free_their_places,
    },
];
