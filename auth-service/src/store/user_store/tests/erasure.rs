//! Tests the erasure of names, on each engine.

use super::{
    changes::{change, delete, insert_token},
    end_all::{Opened, open},
};
use crate::{
    audit::{AuditRow, BulkChange, Entry, Requested},
    change::{Change, Rename, UserUpdate},
    former_username::FormerUsername,
    principal::Principal,
    store::operator_database::Erasure,
    tokens::{NewToken, TokenDetails, TokenKind},
    user::User,
};
use serde_json::json;

postgres_cluster::conformance_tests! {
    open: open,
    cases: [
        an_erasure_is_recorded_first_and_another_one_finishes_it,
        writers_get_their_turn_between_the_batches_of_an_erasure,
        a_row_that_was_tampered_with_keeps_its_name_and_the_others_lose_it,
        both_names_of_a_renaming_are_erased_and_the_seal_stays,
        the_name_of_who_made_a_key_is_erased_while_nobody_has_it,
    ]
}

/// Returns `own` entries about ann's changes of herself, and `others` entries about her changes of bob.
fn entries_of(ann: &User, own: usize, others: usize) -> Vec<Entry> {
    let of_own = AuditRow {
        event: "login_ok".to_owned(),
        user_id: Some(ann.id),
        username: Some("ann".to_owned()),
        actor_id: Some(ann.id),
        actor: Some("ann".to_owned()),
        client_address: Some("192.0.2.1".to_owned()),
        ..AuditRow::default()
    };
    let of_others = AuditRow {
        event: "role_changed".to_owned(),
        user_id: Some(9),
        username: Some("bob".to_owned()),
        ..of_own.clone()
    };
    let mut entries = vec![Entry::new(of_own, json!({})); own];
    entries.extend(vec![Entry::new(of_others, json!({})); others]);
    entries
}

impl Opened {
    async fn deleted_ann(&self, own: usize, others: usize) -> User {
        let ann = self.insert("ann").await;
        self.record_entries(&entries_of(&ann, own, others)).await;
        delete(&self.store, &ann).await;
        self.seal().await;
        ann
    }

    async fn begin(&self, ann: &User) -> Erasure {
        let request = Requested::new(Principal::Operator, BulkChange::Erase);
        let begun = self.operator_database.begin_erasure(ann.id, &request).await;
        begun.expect("begun")
    }

    /// Returns all rows, after checking that each seal covers its rows.
    async fn verified(&self) -> Vec<AuditRow> {
        self.seal().await;
        let mut record = self.operator_database.record().await.expect("begun");
        let mut seal = record.oldest_seal().await.expect("read").expect("a seal");
        let mut all = Vec::new();
        loop {
            let page = record.next_page(seal.revision).await.expect("read");
            if page.seals.is_empty() {
                return all;
            }
            let mut rest = page.rows.as_slice();
            for next in page.seals {
                let (batch, behind) =
                    rest.split_at(rest.partition_point(|row| row.revision <= next.revision));
                rest = behind;
                assert_eq!(seal.next(batch).expect("sealed"), next);
                seal = next;
            }
            all.extend(page.rows);
        }
    }

    /// Returns the number of rows with the name of ann, and the number of rows that record its erasure.
    async fn named_and_recorded(&self) -> [usize; 2] {
        let rows = self.verified().await;
        let has_name = |name: &Option<String>| name.as_deref() == Some("ann");
        let named = rows
            .iter()
            .filter(|row| has_name(&row.username) || has_name(&row.actor));
        let recorded = rows.iter().filter(|row| row.event == "audit_erased");
        [named.count(), recorded.count()]
    }
}

async fn an_erasure_is_recorded_first_and_another_one_finishes_it(opened: &Opened) {
    // The counts include the rows of her creation and of her deletion.
    let ann = opened.deleted_ann(1500, 3).await;
    let ids = opened
        .operator_database
        .deleted_users("ann")
        .await
        .expect("read");
    assert_eq!(ids, [ann.id]);
    let first = opened.begin(&ann).await;
    assert_eq!([first.counted, first.erased], [1505, 0]);
    drop(first);
    assert_eq!(opened.named_and_recorded().await, [1505, 1]);

    let mut second = opened.begin(&ann).await;
    assert!(second.erase_batch().await.expect("erased"));
    assert_eq!([second.counted, second.erased], [1505, 1000]);
    drop(second);
    assert_eq!(opened.named_and_recorded().await, [505, 2]);

    // The next batch leaves her name only in rows where she is the actor and bob the user.
    let mut third = opened.begin(&ann).await;
    assert!(third.erase_batch().await.expect("erased"));
    assert_eq!([third.counted, third.erased], [505, 502]);
    drop(third);
    let ids = opened
        .operator_database
        .deleted_users("ann")
        .await
        .expect("read");
    assert_eq!(ids, [ann.id]);

    let mut last = opened.begin(&ann).await;
    last.run().await.expect("erased");
    assert_eq!([last.counted, last.erased], [3, 3]);
    assert_eq!(opened.named_and_recorded().await, [0, 4]);
    let rows = opened.verified().await;
    assert!(
        rows.iter().all(|row| row.client_address.is_none()),
        "{rows:?}"
    );
    let of_bob = rows
        .iter()
        .filter(|row| row.username.as_deref() == Some("bob"));
    assert_eq!(of_bob.count(), 3);
    let ids = opened
        .operator_database
        .deleted_users("ann")
        .await
        .expect("read");
    assert_eq!(ids, [0; 0]);
}

async fn writers_get_their_turn_between_the_batches_of_an_erasure(opened: &Opened) {
    let ann = opened.deleted_ann(2500, 1500).await;
    let mut erasure = opened.begin(&ann).await;
    let mut batches = 0;
    while erasure.erase_batch().await.expect("erased") {
        // On SQLite, this write would time out if the transaction of a batch were still open.
        opened.insert(&format!("user {batches}")).await;
        batches += 1;
    }
    assert_eq!([erasure.counted, erasure.erased], [4002, 4002]);
    assert!(batches > 4, "{batches}");
    assert_eq!(opened.named_and_recorded().await, [0, 1]);
}

async fn a_row_that_was_tampered_with_keeps_its_name_and_the_others_lose_it(opened: &Opened) {
    let ann = opened.deleted_ann(9, 0).await;
    opened
        .execute("UPDATE audit SET commitments = 'x' WHERE revision = 4 RETURNING revision")
        .await;
    let tamper = if opened.operator_database.database.is_postgres() {
        opened
            .execute("ALTER TABLE audit ALTER COLUMN details DROP NOT NULL")
            .await;
        "UPDATE audit SET details = NULL WHERE revision = 6 RETURNING revision"
    } else {
        "UPDATE audit SET details = x'ff' WHERE revision = 6 RETURNING revision"
    };
    opened.execute(tamper).await;
    let mut erasure = opened.begin(&ann).await;
    erasure.run().await.expect("erased");
    assert_eq!([erasure.counted, erasure.erased], [11, 9]);
    let [malformed, unreadable] = &erasure.kept[..] else {
        panic!("{:?}", erasure.kept);
    };
    assert_eq!(malformed, "revision 4: the salts are malformed");
    let problem = "revision 6: the column details cannot be read: ";
    assert!(unreadable.starts_with(problem), "{unreadable}");
    let named = opened
        .operator_database
        .database
        .statement("SELECT revision FROM audit WHERE username = 'ann' ORDER BY revision");
    let named = opened.operator_database.database.read::<i64>(named).await;
    assert_eq!(named.expect("read"), [4, 6]);
}

async fn both_names_of_a_renaming_are_erased_and_the_seal_stays(opened: &Opened) {
    let ann = opened.insert("ann").await;
    let from = FormerUsername::new("ann".to_owned()).expect("randomness");
    let rename = Rename {
        from,
        to: "joy".to_owned(),
        tokens_not_before: ann.tokens_not_before,
    };
    let update = UserUpdate {
        rename: Some(rename),
        ..UserUpdate::default()
    };
    let user_id = ann.id;
    change(&opened.store, Change::Update { user_id, update }).await;
    delete(&opened.store, &ann).await;
    opened.seal().await;
    opened
        .execute("UPDATE audit SET username = NULL WHERE revision <> 2 RETURNING revision")
        .await;
    for name in ["ann", "joy"] {
        let ids = opened
            .operator_database
            .deleted_users(name)
            .await
            .expect("read");
        assert_eq!(ids, [ann.id], "{name}");
    }
    opened
        .execute("UPDATE audit SET username = 'ann' WHERE revision = 1 RETURNING revision")
        .await;
    opened
        .execute("UPDATE audit SET username = 'joy' WHERE revision = 3 RETURNING revision")
        .await;
    let renaming = opened.verified().await.remove(1);
    assert_eq!(renaming.check_former_username(), Ok(()));
    let bob = FormerUsername::new("bob".to_owned()).expect("randomness");
    for forged in [None, Some("ann".to_owned()), Some(bob.to_stored())] {
        let forged = AuditRow {
            former_username: forged,
            ..renaming.clone()
        };
        forged.check_former_username().expect_err("forged");
    }
    opened.begin(&ann).await.run().await.expect("erased");
    let rows = opened.verified().await;
    for row in &rows {
        let shown = format!("{row:?}");
        assert!(!shown.contains("ann") && !shown.contains("joy"), "{shown}");
        assert_eq!(row.check_former_username(), Ok(()));
    }
    assert_eq!(rows[1].readable_details(), r#"{"by":"operator"}"#);
    for name in ["ann", "joy"] {
        let ids = opened
            .operator_database
            .deleted_users(name)
            .await
            .expect("read");
        assert_eq!(ids, [0; 0], "{name}");
    }
}

async fn the_name_of_who_made_a_key_is_erased_while_nobody_has_it(opened: &Opened) {
    let ann = opened.insert("ann").await;
    let bob = opened.insert("bob").await;
    for (digest, made_by) in [("one", Some("ann")), ("two", Some("carl")), ("three", None)] {
        let mut new = NewToken::key(bob.id, digest);
        new.stored.details = TokenDetails::ApiKey {
            role: None,
            groups: None,
            created_by: made_by.map(str::to_owned),
        };
        insert_token(&opened.store, new).await;
    }
    let erase = async || {
        let erased = opened.operator_database.erase_key_creator("ann").await;
        erased.expect("erased")
    };
    assert_eq!(erase().await, 0, "ann exists");
    delete(&opened.store, &ann).await;
    assert_eq!(erase().await, 1);
    assert_eq!(erase().await, 0);
    let keys = opened.store.tokens_of_user(TokenKind::ApiKey, bob.id).await;
    let made_by: Vec<_> = keys
        .expect("read")
        .value
        .into_iter()
        .map(|key| key.created_by().map(str::to_owned))
        .collect();
    assert_eq!(made_by, [None, Some("carl".to_owned()), None]);
}
