use super::{AuditRow, Seal};

fn seal(revision: i64) -> Seal {
    Seal {
        revision,
        at: 7,
        digest: "begin".to_owned(),
    }
}

fn row(revision: i64) -> AuditRow {
    let mut row = AuditRow {
        revision,
        id: 10 * revision,
        at: 100 + revision,
        event: "role_changed".to_owned(),
        user_id: Some(2),
        username: Some("ann".to_owned()),
        actor_id: Some(1),
        actor: Some("admin".to_owned()),
        actor_key: Some(3),
        actor_session: None,
        client_address: Some("192.0.2.1".to_owned()),
        request_id: Some("r1".to_owned()),
        details: r#"{"from":"user"}"#.to_owned(),
        state: Some("author".to_owned()),
        former_username: None,
        commitments: String::new(),
    };
    row.generate_salts().expect("randomness");
    row
}

#[test]
fn every_column_of_every_row_is_sealed() {
    let rows = [row(5), row(6)];
    let sealed = seal(4).next(&rows).expect("sealed");
    assert_eq!((sealed.revision, sealed.at), (6, 106));
    assert_eq!(seal(4).next(&rows).expect("the same"), sealed);
    let changes: [fn(&mut AuditRow); 15] = [
        |row| row.revision += 1,
        |row| row.id += 1,
        |row| row.at -= 1,
        |row| row.event.push('x'),
        |row| row.user_id = None,
        |row| row.username = Some("bob".to_owned()),
        |row| row.actor_id = Some(2),
        |row| row.actor = None,
        |row| row.actor_key = None,
        |row| row.actor_session = Some(0),
        |row| row.client_address = None,
        |row| row.request_id = Some(String::new()),
        |row| row.details.push(' '),
        |row| row.state = None,
        |row| row.commitments = row.commitments.replace(' ', ""),
    ];
    for (index, change) in changes.into_iter().enumerate() {
        for of_row in [0, 1] {
            let mut other = rows.clone();
            change(&mut other[of_row]);
            assert_ne!(seal(4).next(&other).ok(), Some(sealed.clone()), "{index}");
        }
    }
}

#[test]
fn rows_that_are_missing_or_in_another_place_break_the_chain() {
    let rows = [row(5), row(6), row(7)];
    let broken = seal(4).next(&rows[1..]).expect_err("the first is missing");
    assert_eq!(broken.to_string(), "revision 5: the row is missing");
    let mut swapped = rows.clone();
    swapped.swap(0, 1);
    assert!(seal(4).next(&swapped).is_err());
    let sealed = seal(4).next(&rows).expect("sealed");
    assert_ne!(
        seal(4).next(&rows[..2]).expect("a seal"),
        sealed,
        "the last is missing"
    );
    let other = Seal {
        digest: "other".to_owned(),
        ..seal(4)
    };
    assert_ne!(
        other.next(&rows).expect("a seal").digest,
        sealed.digest,
        "another chain"
    );
    let older = Seal { at: 6, ..seal(4) };
    assert_ne!(
        older.next(&rows).expect("a seal").digest,
        sealed.digest,
        "another time"
    );
}

#[test]
fn an_erasure_keeps_the_seal_and_leaves_no_name_and_no_salt() {
    let rows = [row(5)];
    let sealed = seal(4).next(&rows).expect("sealed");
    let mut erased = rows.clone();
    erased[0].erase(2).expect("erased");
    assert_eq!(
        (&erased[0].username, erased[0].actor.as_deref()),
        (&None, Some("admin"))
    );
    assert_eq!(erased[0].erased_ids(), [Some(2), None]);
    assert_eq!(seal(4).next(&erased).expect("sealed"), sealed);
    erased[0].erase(1).expect("erased");
    assert_eq!(
        (&erased[0].actor, &erased[0].client_address),
        (&None, &None)
    );
    assert_eq!(erased[0].erased_ids(), [Some(2), Some(1)]);
    assert_eq!(seal(4).next(&erased).expect("sealed"), sealed);
    let commitments = rows[0].commitments.clone();
    assert!(
        commitments
            .split(' ')
            .all(|salt| !erased[0].commitments.contains(salt))
    );
    erased[0].erase(1).expect("once more changes nothing");
    assert_eq!(seal(4).next(&erased).expect("sealed"), sealed);
    erased[0].username = Some("ann".to_owned());
    let broken = seal(4).next(&erased).expect_err("there again");
    assert_eq!(
        broken.to_string(),
        "revision 5: an erased value is there again"
    );
}

#[test]
fn what_strangers_did_to_an_erased_user_loses_its_address() {
    let mut failed = AuditRow {
        actor_id: None,
        actor: None,
        ..row(5)
    };
    failed.erase(2).expect("erased");
    assert_eq!((failed.username, failed.client_address), (None, None));
    let mut unknown = AuditRow {
        user_id: None,
        actor_id: None,
        ..row(5)
    };
    unknown.commitments = format!("{} =a=b", "00".repeat(16));
    assert_eq!(
        unknown.erased_ids(),
        [None, Some(0)],
        "of nobody whose erasure can be recorded"
    );
}
