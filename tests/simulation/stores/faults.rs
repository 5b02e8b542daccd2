//! Disturbs the calls of a simulated store: delays before and after a call, errors instead of it, and answers that are
//! lost after a write. Each of the two stores has a copy of this module.

use rolegate_sql_store::{STATEMENT_TIMEOUT, StoreError};
use std::{cell::RefCell, future::Future, time::Duration};
use tokio::time::sleep;

/// How often calls fail, in thousandths, and how long they are delayed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plan {
    /// The longest delay before a call and after it, in milliseconds.
    pub delay: u64,
    /// How many of a thousand calls are refused before they are made.
    pub refused: u64,
    /// How many of a thousand writes are made but not acknowledged.
    pub lost: u64,
}

#[derive(Default)]
struct State {
    plan: Plan,
    dice: u64,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// Starts the random numbers of a new run with this seed, without any fault.
pub fn reset(seed: u64) {
    STATE.set(State {
        dice: seed,
        plan: Plan::default(),
    });
}

/// Disturbs calls according to this plan from now on.
pub fn plan(plan: Plan) {
    STATE.with_borrow_mut(|state| state.plan = plan);
}

/// Returns a random number below `bound`, by splitmix64.
fn below(bound: u64) -> u64 {
    STATE.with_borrow_mut(|state| {
        state.dice = state.dice.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state.dice ^ (state.dice >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound.max(1)
    })
}

async fn delay() -> Result<(), StoreError> {
    let Plan { delay, refused, .. } = STATE.with_borrow(|state| state.plan);
    let time = Duration::from_millis(below(delay + 1));
    sleep(time.min(STATEMENT_TIMEOUT)).await;
    if time >= STATEMENT_TIMEOUT || below(1000) < refused {
        return Err(StoreError::TimedOut);
    }
    Ok(())
}

/// Makes a call that changes nothing, with the planned faults.
pub(crate) async fn read<T, E: From<StoreError>>(
    call: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    delay().await?;
    let found = call.await;
    delay().await?;
    found
}

/// Makes a call that writes, with the planned faults. Its caller may leave or crash between the write and the answer.
pub(crate) async fn write<T, E: From<StoreError>>(
    call: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    delay().await?;
    let written = call.await?;
    let Plan { delay, lost, .. } = STATE.with_borrow(|state| state.plan);
    sleep(Duration::from_millis(below(delay + 1))).await;
    if below(1000) < lost {
        return Err(StoreError::OutcomeUnknown {
            problem: "the answer was lost",
            source: None,
        }
        .into());
    }
    Ok(written)
}
