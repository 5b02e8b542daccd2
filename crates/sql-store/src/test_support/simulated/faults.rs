//! Disturbs the reads and writes of a simulated database: delays before and after them, errors instead of them, and
//! answers that are lost after a commit.

use super::{SqlitePool, at_once};
use sqlx::Error;
use std::{cell::RefCell, collections::BTreeMap, future::Future, io::ErrorKind, time::Duration};
use tokio::time::sleep;

/// How often reads and writes fail, in thousandths, and how long they are delayed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plan {
    /// The longest delay before and after a read or a write, in milliseconds.
    pub delay: u64,
    /// How many of a thousand reads and writes are refused before they are made.
    pub refused: u64,
    /// How many of a thousand writes are committed but not acknowledged.
    pub lost: u64,
}

#[derive(Default)]
struct State {
    /// The plans by the names of their files. A file without a plan has no faults.
    plans: BTreeMap<&'static str, Plan>,
    dice: u64,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// Starts the random numbers of a run with this seed, without any fault.
pub fn reset(seed: u64) {
    STATE.set(State {
        dice: seed,
        plans: BTreeMap::new(),
    });
}

/// Disturbs the database in the file of this name according to this plan from now on.
pub fn plan(file_name: &'static str, plan: Plan) {
    STATE.with_borrow_mut(|state| state.plans.insert(file_name, plan));
}

fn find_plan(file_name: &str) -> Plan {
    STATE.with_borrow(|state| state.plans.get(file_name).copied().unwrap_or_default())
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

async fn delay(plan: Plan) {
    sleep(Duration::from_millis(below(plan.delay + 1))).await;
}

/// Waits for the planned delay, and then fails if the database is to refuse.
pub(crate) async fn delay_or_refuse(file_name: &str) -> sqlx::Result<()> {
    let plan = find_plan(file_name);
    delay(plan).await;
    if below(1000) < plan.refused {
        return Err(Error::Io(ErrorKind::TimedOut.into()));
    }
    Ok(())
}

/// Makes a read with the planned faults.
pub(crate) async fn read<T>(
    pool: &SqlitePool,
    read: impl Future<Output = sqlx::Result<T>>,
) -> sqlx::Result<T> {
    let file_name = pool.file_name();
    delay_or_refuse(&file_name).await?;
    let found = at_once(read).await;
    delay(find_plan(&file_name)).await;
    found
}

/// Makes a transaction that writes, with the planned faults. Its caller may leave or crash between the commit and the
/// answer.
pub(crate) async fn write<T>(
    pool: SqlitePool,
    transaction: impl Future<Output = sqlx::Result<T>>,
) -> sqlx::Result<T> {
    let file_name = pool.file_name();
    delay_or_refuse(&file_name).await?;
    let written = at_once(transaction).await?;
    let plan = find_plan(&file_name);
    delay(plan).await;
    if below(1000) < plan.lost {
        return Err(Error::Io(ErrorKind::ConnectionReset.into()));
    }
    Ok(written)
}
