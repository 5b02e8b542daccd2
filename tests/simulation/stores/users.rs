//! The store of users in a simulation. It is the memory store of the conformance suite, behind delays and errors, and
//! all auth-services share it. This file is compiled as a part of auth-service, and only with `--cfg simulation`.

pub mod faults;

use super::{
    AuditFilter, AuditStore, CheckedChange, CheckedRow, CodeLimit, CodePurpose, OneTimeCodeUse,
    RoleUsage, Seal, Snapshot, StoreError, StoredPasswordLink, StoredSecondFactor, TokenStore,
    UsageKind, UsagePause, UserFilter, UserStore, WriteError, seal::SealRange,
    second_factor::SecondFactorStore, tests::memory::MemoryStore,
};
use crate::{
    audit::{Entry, RecoveryCodeUse, Requested},
    change::{Change, TokenChange},
    opaque_token::{OpaqueToken, TokenBearer, TokenKind},
    user::{Credentials, ListedUser, User},
};
use async_trait::async_trait;
use faults::{read, write};
use rolegate_program::failure::Failure;
use rolegate_sql_store::{DatabaseUrl, Store, StoreStatus, Timed, unix_millis};
use secrecy::SecretString;
use std::{
    cell::{Cell, RefCell},
    ops::Range,
    sync::Arc,
    time::Duration,
};

/// When the simulation begins, in Unix seconds.
const EPOCH: u64 = 1_800_000_000;

thread_local! {
    static DATABASE: RefCell<Arc<MemoryStore>> = RefCell::default();
    /// How many seconds the database's clock was stepped, and the latest time that it has shown since then.
    static CLOCK: Cell<(i64, u64)> = Cell::default();
}

/// Replaces the database by an empty one for a new run.
pub fn reset(seed: u64) {
    DATABASE.set(Arc::default());
    CLOCK.set((0, 0));
    faults::reset(seed);
}

/// Steps the clock of the database by this many seconds.
pub fn step_clock(seconds: i64) {
    CLOCK.set((CLOCK.get().0 + seconds, 0));
}

/// Returns the time of the database's clock, in Unix seconds. The time never goes back, although the clocks of hosts
/// differ within a tick.
fn now() -> u64 {
    let (stepped, shown) = CLOCK.get();
    let elapsed = u64::try_from(unix_millis()).unwrap_or(0) / 1000;
    let now = (EPOCH + elapsed).saturating_add_signed(stepped).max(shown);
    CLOCK.set((stepped, now));
    now
}

/// Opens the store that all processes of the simulation share.
pub(crate) async fn open(_: &DatabaseUrl) -> Result<Arc<dyn UserStore>, Failure> {
    Ok(Arc::new(Disturbed(DATABASE.with_borrow(Arc::clone))))
}

/// The shared store with the faults of a run.
struct Disturbed(Arc<MemoryStore>);

impl Disturbed {
    /// Returns the shared store, after setting its clock to the present.
    fn database(&self) -> &MemoryStore {
        self.0.set_time(now());
        &self.0
    }
}

#[async_trait]
impl Store for Disturbed {
    async fn ping(&self) -> Result<(), StoreError> {
        read(self.database().ping()).await
    }

    fn status(&self) -> StoreStatus {
        StoreStatus::default()
    }

    /// Does nothing, because other processes still use the store.
    async fn close(&self) {}
}

/// Implements a trait of the store by calls of the shared store, each as a `read` or a `write`. A call takes no time
/// itself; only the delays before and after it do.
macro_rules! disturbed {
    ($part:ident {
        $($kind:ident $name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*
    } $($item:item)*) => {
        #[async_trait]
        impl $part for Disturbed {
            $(async fn $name(&self, $($argument: $type),*) -> $answer {
                $kind(async { self.database().$name($($argument),*).await }).await
            })*
            $($item)*
        }
    };
}

disturbed!(UserStore {
    write change_user(request: Arc<Requested<Change>>) -> Result<User, WriteError>;
    read users_by_id(ids: &[i64]) -> Result<Timed<Vec<User>>, StoreError>;
    read credentials_by_username(names: &[String]) -> Result<Timed<Vec<Credentials>>, StoreError>;
    read highest_password_cost() -> Result<Option<u32>, StoreError>;
    read roles_in_use() -> Result<Vec<RoleUsage>, StoreError>;
    write replace_password(id: i64, old: &SecretString, new: SecretString) -> Result<bool, StoreError>;
    read list(filter: &UserFilter) -> Result<Vec<ListedUser>, StoreError>;
});

disturbed!(TokenStore {
    write change_tokens(request: Arc<Requested<TokenChange>>) -> Result<Vec<OpaqueToken>, WriteError>;
    write restrict_to_cookies(ids: &[i64]) -> Result<(), StoreError>;
    read tokens_by_digest(digests: &[String]) -> Result<Timed<Vec<TokenBearer>>, StoreError>;
    read tokens_of_user(kind: TokenKind, user: i64) -> Result<Timed<Vec<OpaqueToken>>, StoreError>;
    write delete_idle_sessions(ids: &[i64], active_range: Range<u64>) -> Result<Vec<i64>, StoreError>;
    read usage_pauses() -> Result<Vec<UsagePause>, StoreError>;
}
    fn note_use(&self, kind: UsageKind, id: i64, at: u64) {
        self.database().note_use(kind, id, at);
    }
    fn unwritten_use(&self, kind: UsageKind, id: i64) -> Option<u64> {
        self.database().unwritten_use(kind, id)
    }
    fn unwritten_since(&self) -> Option<u64> {
        self.database().unwritten_since()
    }
);

disturbed!(AuditStore {
    write seal() -> Result<bool, StoreError>;
    read newest_change() -> Result<i64, StoreError>;
    read seals() -> Result<SealRange, StoreError>;
    read seal_at(revision: i64) -> Result<Option<Seal>, StoreError>;
    read has_revision(revision: i64) -> Result<bool, StoreError>;
    read audit(filter: &AuditFilter) -> Result<Vec<CheckedRow>, StoreError>;
    read changes_after(revision: i64) -> Result<Vec<CheckedChange>, StoreError>;
    read snapshot() -> Result<Snapshot, StoreError>;
    read oldest_unsealed() -> Result<Option<Duration>, StoreError>;
    write remove_old_rows(days: u32) -> Result<(), StoreError>;
    write forget_additions() -> Result<(), StoreError>;
}
    fn enqueue_event(&self, entry: Entry) {
        self.database().enqueue_event(entry);
    }
);

disturbed!(SecondFactorStore {
    write insert_pending_sign_in(user: &Timed<User>, digest: String) -> Result<(), WriteError>;
    read pending_sign_in(digest: &str) -> Result<Timed<Option<User>>, StoreError>;
    read password_link(digest: &str) -> Result<Timed<Option<StoredPasswordLink>>, StoreError>;
    read second_factor(user: i64) -> Result<Timed<Option<StoredSecondFactor>>, StoreError>;
    write use_one_time_code(
        user: i64, purpose: CodePurpose, code: OneTimeCodeUse
    ) -> Result<bool, StoreError>;
    write use_recovery_code(
        purpose: CodePurpose, digest: String, request: Arc<Requested<RecoveryCodeUse>>
    ) -> Result<bool, StoreError>;
    write count_wrong_code(user: i64, limit: CodeLimit) -> Result<bool, StoreError>;
    read second_factor_key_ids() -> Result<Vec<String>, StoreError>;
});
