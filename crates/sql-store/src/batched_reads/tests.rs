use super::{BatchKey, BatchLabels, BatchedReads, Timed, split_between_rows};
use crate::StoreError;
use futures_util::future::BoxFuture;
use sqlx::Error;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::time::{Instant, sleep};

impl BatchKey for u32 {
    type RowKey = Self;

    fn row_key(&self) -> Self {
        *self
    }
}

const ROUND_TRIP: Duration = Duration::from_millis(1);

/// A store whose statements fail because of their data if they contain the key 5 or a key of at least 1000. The
/// statement with the number `outage` fails because the database does not answer.
#[derive(Default)]
struct Store {
    statements: AtomicUsize,
    in_flight: AtomicUsize,
    most_in_flight: AtomicUsize,
    outage: usize,
}

type Rows = Result<Timed<Vec<u32>>, StoreError>;

fn read<'a>(store: &'a Store, keys: &'a [u32]) -> BoxFuture<'a, Rows> {
    Box::pin(async move {
        let number = store.statements.fetch_add(1, Ordering::SeqCst) + 1;
        let in_flight = store.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        store.most_in_flight.fetch_max(in_flight, Ordering::SeqCst);
        sleep(ROUND_TRIP).await;
        store.in_flight.fetch_sub(1, Ordering::SeqCst);
        if number == store.outage {
            Err(StoreError::TimedOut)
        } else if keys.iter().any(|key| *key == 5 || *key >= 1000) {
            Err(StoreError::Failed(Arc::new(Error::Decode("spoilt".into()))))
        } else {
            Ok(Timed {
                at: 7,
                value: keys.iter().copied().filter(|key| *key != 6).collect(),
            })
        }
    })
}

fn reads(outage: usize) -> (Arc<Store>, BatchedReads<Store, u32, u32>) {
    let store = Arc::new(Store {
        outage,
        ..Store::default()
    });
    let reads = BatchedReads::new(
        BatchLabels {
            store: "test",
            key: "key",
        },
        &store,
        read,
        |row| *row,
    );
    (store, reads)
}

#[tokio::test(start_paused = true)]
async fn key_that_spoils_a_statement_fails_alone_and_delays_the_others_by_few_round_trips() {
    let (store, reads) = reads(0);
    let began = Instant::now();
    let found = reads
        .get_all((0..256).chain([5, 7]).collect())
        .await
        .expect("read");
    assert_eq!((found.at, found.value.len()), (7, 255));
    for key in 0..256 {
        let row = found.value.get(&key).map(|row| row.as_ref().ok().copied());
        let expected = if key == 6 {
            None
        } else {
            Some((key != 5).then_some(key))
        };
        assert_eq!(row, expected, "{key}");
    }
    assert!(began.elapsed() < 12 * ROUND_TRIP, "{:?}", began.elapsed());
    assert_eq!(store.statements.load(Ordering::SeqCst), 17);
    let (spoilt, unknown, other) =
        tokio::join!(reads.get(5_u32), reads.get(6_u32), reads.get(8_u32));
    assert!(spoilt.is_err_and(|error| error.is_data_error()));
    assert_eq!(unknown.expect("read"), Timed { at: 7, value: None });
    assert_eq!(
        other.expect("read"),
        Timed {
            at: 7,
            value: Some(8)
        }
    );
}

#[tokio::test(start_paused = true)]
async fn outage_fails_the_keys_of_its_statement() {
    let (_, reads) = reads(1);
    let found = reads.get_all((0..64).collect()).await;
    assert!(matches!(found, Err(StoreError::TimedOut)), "{found:?}");
    // The second statement reads the first half, and the third statement reads the second half.
    let (_, reads) = self::reads(3);
    let found = reads
        .get_all((0..64).collect())
        .await
        .expect("read in part");
    assert_eq!(found.at, 7);
    for key in (0..64).filter(|key| *key != 6) {
        let row = found.value.get(&key).expect("an outcome");
        match key {
            5 => assert!(
                row.as_ref().is_err_and(StoreError::is_data_error),
                "{row:?}"
            ),
            32.. => assert!(matches!(row, Err(StoreError::TimedOut)), "{key}: {row:?}"),
            _ => assert_eq!(row.as_ref().ok(), Some(&key)),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn unreadable_rows_leave_connections_to_others() {
    let (store, reads) = reads(0);
    let found = reads.get_all((1000..1256).collect()).await.expect("read");
    assert_eq!(found.value.len(), 256);
    assert!(found.value.values().all(Result::is_err));
    assert_eq!(
        store.most_in_flight.load(Ordering::SeqCst),
        super::MAX_PARTS_IN_FLIGHT
    );
}

/// A key of a row, for a caller that needs something else of the row than other callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RowAndNeed(u32, &'static str);

impl BatchKey for RowAndNeed {
    type RowKey = u32;

    fn row_key(&self) -> u32 {
        self.0
    }
}

#[test]
fn keys_of_one_row_stay_together_when_a_failed_statement_is_split() {
    let [first, second, third] = ["a", "b", "c"].map(|need| RowAndNeed(1, need));
    let other = RowAndNeed(2, "a");
    let keys = [first, second, third, other];
    assert_eq!(split_between_rows(&keys), Some([&keys[..3], &keys[3..]]));
    assert_eq!(split_between_rows(&keys[..3]), None);
    assert_eq!(split_between_rows(&[other]), None);
}
