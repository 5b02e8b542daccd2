//! Returns freed memory to the operating system.

use std::{hint::black_box, time::Duration};
use tokio::time::{MissedTickBehavior, interval};

const INTERVAL: Duration = Duration::from_secs(5);

/// More than the allocator keeps in its lists of small blocks.
const LARGE_BLOCK: usize = 1024 * 1024;

/// mimalloc returns memory that was freed a second ago when a program frees a large block. Without this,
/// a program without requests keeps what a flood has left.
pub(crate) async fn return_periodically() {
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        drop(black_box(Vec::<u8>::with_capacity(LARGE_BLOCK)));
    }
}
