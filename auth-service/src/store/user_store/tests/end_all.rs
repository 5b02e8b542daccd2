//! Tests the command that ends all credentials, on each engine.

use super::changes::{
    begin_second_factor, change, delete, insert, insert_token, revoke_tokens, turn_on_second_factor,
};
use crate::{
    audit::{AuditRow, BulkChange, EndedCredentials, Requested},
    change::{Change, GroupChange},
    principal::Principal,
    store::{
        ApiKeys, AuditFilter, FileClock, HighWaterMarks, OperatorDatabase, Seal, StoreError,
        seal::REVISION_GAP,
        user_store::{UserStore, open_beside},
    },
    tokens::{NewPasswordLink, NewToken, TokenKind},
    user::{User, UserRecord},
};
use async_trait::async_trait;
use rolegate_program::failure::Failure;
use rolegate_proto::Role;
use rolegate_sql_store::{DatabaseUrl, Store, StoreStatus};
use std::sync::Arc;

postgres_cluster::conformance_tests! {
    open: open,
    cases: [
        everything_but_passwords_and_keys_ends_and_the_row_counts_it,
        keys_are_deleted_if_the_operator_asks_for_it,
        ids_and_revisions_go_on_behind_a_gap_and_behind_those_of_a_replaced_database,
        a_revision_in_a_gap_is_not_known_and_those_around_it_are,
        rows_that_were_not_sealed_come_behind_the_gap,
        writes_and_seals_at_the_same_time_fail_nothing_and_are_recorded_once,
        a_user_who_is_imported_again_was_made_after_the_deletion,
    ]
}

pub(super) struct Opened {
    pub(super) store: Arc<UserStore>,
    pub(super) operator_database: OperatorDatabase,
}

#[async_trait]
impl Store for Opened {
    async fn ping(&self) -> Result<(), StoreError> {
        self.store.ping().await
    }

    fn status(&self) -> StoreStatus {
        self.store.status()
    }

    async fn close(&self) {
        self.store.close().await;
    }
}

pub(super) async fn open(url: &DatabaseUrl) -> Result<Arc<Opened>, Failure> {
    let (store, operator_database) = open_beside(url, FileClock::Advance).await?;
    Ok(Arc::new(Opened {
        store,
        operator_database,
    }))
}

impl Opened {
    pub(super) async fn insert(&self, username: &str) -> User {
        insert(&self.store, username).await
    }

    pub(super) async fn add_token(&self, user: &User, kind: TokenKind, digest: &str) -> i64 {
        let new = match kind {
            TokenKind::ApiKey => NewToken::key(user.id, digest),
            TokenKind::Session => NewToken::session(user, digest),
        };
        insert_token(&self.store, new).await
    }

    async fn add_group(&self, name: &str) -> i64 {
        let name = name.parse().expect("a name");
        let request = Requested::new(Principal::Operator, GroupChange::Create { name });
        let created = self.store.change_group(Arc::new(request)).await;
        created.expect("a group").id
    }

    async fn end_all(
        &self,
        api_keys: ApiKeys,
        replaced: HighWaterMarks,
    ) -> (EndedCredentials, i64) {
        let request = Requested::new(Principal::Operator, BulkChange::EndAll);
        let end = self.operator_database.end_all(api_keys, replaced, &request);
        let end = end.await.expect("ended");
        (end.ended, end.live_api_keys)
    }

    pub(super) async fn seal(&self) -> Seal {
        while self.store.seal().await.expect("sealed") {}
        self.store.seals().await.expect("read").newest
    }

    /// Seals all rows, and returns the rows of the record by ascending revision.
    pub(super) async fn record(&self) -> Vec<AuditRow> {
        self.seal().await;
        let filter = AuditFilter {
            limit: 1000,
            ..AuditFilter::default()
        };
        let rows = self.store.audit(&filter).await.expect("read");
        let rows = rows.into_iter().rev();
        rows.map(|row| row.content.expect("readable")).collect()
    }

    async fn user(&self, id: i64) -> User {
        let found = self.store.users_by_id(&[id], &[]).await.expect("read");
        found.value.into_iter().next().expect("a user")
    }

    async fn has_token(&self, digest: &str) -> bool {
        let found = self.store.tokens_by_digest(&[digest.to_owned()], &[]).await;
        !found.expect("read").value.is_empty()
    }
}

async fn everything_but_passwords_and_keys_ends_and_the_row_counts_it(opened: &Opened) {
    let ann = opened.insert("ann").await;
    let bob = opened.insert("bob").await;
    let store = &opened.store;
    for user in [&ann, &bob] {
        begin_second_factor(store, user, &["code"]).await;
    }
    turn_on_second_factor(store, &bob).await;
    let before = [opened.user(ann.id).await, opened.user(bob.id).await];
    let [ann, bob] = &before;
    opened.add_token(ann, TokenKind::ApiKey, "key").await;
    opened.add_token(ann, TokenKind::Session, "session").await;
    opened.add_token(bob, TokenKind::Session, "other").await;
    let create_link = Change::CreatePasswordLink {
        user_id: ann.id,
        link: NewPasswordLink::with_digest("link", u64::MAX >> 1),
    };
    change(store, create_link).await;
    let last = opened.seal().await;
    let (ended, live_api_keys) = opened
        .end_all(ApiKeys::Keep, HighWaterMarks::default())
        .await;
    let expected = EndedCredentials {
        after_revision: last.revision,
        sessions: 2,
        links: 1,
        second_factors: 1,
        api_keys: 0,
    };
    assert_eq!((ended, live_api_keys), (expected, 1));
    assert!(opened.has_token("key").await);
    assert!(!opened.has_token("session").await && !opened.has_token("other").await);
    let link = store.password_link("link").await.expect("read").value;
    assert_eq!(link, None);
    for old in &before {
        let user = opened.user(old.id).await;
        assert!(user.tokens_not_before > old.tokens_not_before, "{user:?}");
        assert_eq!(user.second_factor, old.second_factor);
    }
    assert!(
        store
            .second_factor(ann.id)
            .await
            .expect("read")
            .value
            .is_none()
    );
    let of_bob = store.second_factor(bob.id).await.expect("read").value;
    assert_eq!(of_bob.expect("it is on").recovery_codes, 1);
    let row = opened.record().await.pop().expect("a row");
    assert_eq!((&*row.event, row.user_id), ("all_ended", None));
    let details: serde_json::Value = serde_json::from_str(&row.details).expect("JSON");
    assert_eq!(details["sessions"], ended.sessions);
    assert_eq!(details["after_revision"], last.revision);
    assert_eq!(details["by"], "operator");
}

async fn keys_are_deleted_if_the_operator_asks_for_it(opened: &Opened) {
    let ann = opened.insert("ann").await;
    opened.add_token(&ann, TokenKind::ApiKey, "key").await;
    let (ended, live_api_keys) = opened
        .end_all(ApiKeys::Delete, HighWaterMarks::default())
        .await;
    assert_eq!((ended.api_keys, live_api_keys), (1, 0));
    assert!(!opened.has_token("key").await);
}

async fn ids_and_revisions_go_on_behind_a_gap_and_behind_those_of_a_replaced_database(
    opened: &Opened,
) {
    let ann = opened.insert("ann").await;
    let key = opened.add_token(&ann, TokenKind::ApiKey, "one").await;
    let group = opened.add_group("staff").await;
    let last = opened.seal().await;
    opened
        .end_all(ApiKeys::Keep, HighWaterMarks::default())
        .await;
    let after = opened.seal().await;
    assert!(after.revision >= last.revision + REVISION_GAP, "{after:?}");
    let bob = opened.insert("bob").await;
    assert!(bob.id > ann.id + 1_000_000, "{bob:?}");
    let other = opened.add_token(&bob, TokenKind::ApiKey, "two").await;
    assert!(other > key + 1_000_000, "{other}");
    let other = opened.add_group("crew").await;
    assert!(other > group + 1_000_000, "{other}");
    let replaced = HighWaterMarks {
        user_id: 7_000_000,
        token_id: 9_000_000,
        revision: 5 * REVISION_GAP,
        clock: None,
    };
    opened.end_all(ApiKeys::Keep, replaced).await;
    assert!(opened.seal().await.revision >= 6 * REVISION_GAP);
    let carl = opened.insert("carl").await;
    assert!(carl.id > 8_000_000, "{carl:?}");
    let third = opened.add_token(&carl, TokenKind::ApiKey, "three").await;
    assert!(third > 10_000_000, "{third}");
}

async fn a_revision_in_a_gap_is_not_known_and_those_around_it_are(opened: &Opened) {
    opened.insert("ann").await;
    let last = opened.seal().await.revision;
    opened
        .end_all(ApiKeys::Keep, HighWaterMarks::default())
        .await;
    opened.insert("bob").await;
    let newest = opened.seal().await.revision;
    let end = newest - 1;
    assert!(end >= last + REVISION_GAP, "{end}");
    for (revision, is_known) in [
        (0, true),
        (last, true),
        (last + 1, false),
        (end - 1, false),
        (end, true),
        (newest, true),
        (newest + 1, false),
    ] {
        let found = opened.store.has_revision(revision).await.expect("read");
        assert_eq!(found, is_known, "{revision}");
    }
    let mut changes = opened.store.changes_after(last).await.expect("read");
    assert_eq!(changes.len(), 1, "{changes:?}");
    let change = changes.remove(0).content.expect("readable");
    let seal = change.seal.expect("sealed");
    let found = opened.store.seal_at(seal.revision).await.expect("read");
    assert!(found.is_some_and(|found| seal.refers_to(&found)));
}

async fn rows_that_were_not_sealed_come_behind_the_gap(opened: &Opened) {
    opened.insert("ann").await;
    let last = opened.seal().await.revision;
    opened.insert("bob").await;
    opened
        .end_all(ApiKeys::Keep, HighWaterMarks::default())
        .await;
    let rows = opened.record().await;
    let events: Vec<_> = rows.iter().map(|row| &*row.event).collect();
    assert_eq!(events, ["user_created", "all_ended", "user_created"]);
    assert_eq!(rows[0].revision, last);
    assert!(rows[1].revision >= last + REVISION_GAP, "{rows:?}");
    assert_eq!(rows[2].revision, rows[1].revision + 1);
}

async fn writes_and_seals_at_the_same_time_fail_nothing_and_are_recorded_once(opened: &Opened) {
    const USERS: usize = 20;
    let ann = opened.insert("ann").await;
    let writes = async {
        for number in 0..USERS {
            let user = opened.insert(&format!("user {number}")).await;
            let digest = format!("session {number}");
            opened.add_token(&user, TokenKind::ApiKey, &digest).await;
            revoke_tokens(&opened.store, ann.id).await;
        }
    };
    let seals = async {
        for _ in 0..USERS {
            opened.store.seal().await.expect("sealed");
        }
    };
    let ends = async {
        for _ in 0..3 {
            opened
                .end_all(ApiKeys::Keep, HighWaterMarks::default())
                .await;
        }
    };
    tokio::join!(writes, seals, ends);
    let rows = opened.record().await;
    assert_eq!(rows.len(), 1 + 3 * USERS + 3);
    for pair in rows.windows(2) {
        let follows = pair[1].revision == pair[0].revision + 1;
        assert!(follows || pair[1].event == "all_ended", "{pair:?}");
    }
    let mut record = opened.operator_database.record().await.expect("begun");
    assert_eq!(record.uncovered_rows().await.expect("read"), 0);
    let mut seal = record.oldest_seal().await.expect("read").expect("a seal");
    loop {
        let page = record.next_page(seal.revision).await.expect("read");
        if page.seals.is_empty() {
            break;
        }
        for next in page.seals {
            let batch: Vec<AuditRow> = rows
                .iter()
                .filter(|row| (seal.revision + 1..=next.revision).contains(&row.revision))
                .cloned()
                .collect();
            assert_eq!(seal.next(&batch).expect("unbroken"), next);
            seal = next;
        }
    }
}

async fn a_user_who_is_imported_again_was_made_after_the_deletion(opened: &Opened) {
    let ann = opened.insert("ann").await;
    delete(&opened.store, &ann).await;
    let mut last = ann.created_at;
    for is_sealed in [false, true] {
        if is_sealed {
            opened.seal().await;
        }
        let mut import = opened.operator_database.import().await.expect("begun");
        let record = UserRecord {
            id: Some(ann.id),
            username: "ann".to_owned(),
            password_hash: "hash".into(),
            role: Role::USER,
            disabled: false,
            tokens_not_before: 0,
            tokens_marked_until: 0,
            created_at: None,
            until: None,
            memberships: Vec::new(),
        };
        import.insert(vec![record]).await.expect("inserted");
        import.commit().await.expect("committed");
        let again = opened.user(ann.id).await.created_at;
        assert!(again > last, "{again:?} {last:?}");
        last = again;
        delete(&opened.store, &ann).await;
    }
}
