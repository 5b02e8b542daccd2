use super::{Applied, Found, Schema, compare};
use crate::{Migration, Tables, error::OpenFailure};

const TABLES: Tables = Tables {
    owner: "auth-service",
    marker_table: "user",
    schema: None,
    postgres: &[],
    sqlite: &[
        Migration {
            version: 1,
            name: "user",
            sql: "CREATE TABLE one",
        },
        Migration {
            version: 2,
            name: "more",
            sql: "CREATE TABLE two",
        },
    ],
};

fn ours() -> Vec<Applied> {
    let migrator = TABLES.sqlite();
    let applied = migrator.iter().map(|it| {
        (
            it.version,
            it.description.clone().into_owned(),
            true,
            it.checksum.to_vec(),
        )
    });
    applied.collect()
}

fn compare_with(
    applied: Vec<Applied>,
    has_marker: bool,
    has_others: bool,
) -> Result<Schema, OpenFailure> {
    let found = Found {
        applied,
        has_marker,
        others: has_others.then_some("it has tables of another program"),
        can_create: true,
    };
    compare(&TABLES, &TABLES.sqlite(), &found)
}

#[track_caller]
fn expect_unrecognized(schema: &Result<Schema, OpenFailure>, why: &str) {
    let Err(OpenFailure::Unrecognized(text)) = schema else {
        panic!("{schema:?} is recognized")
    };
    assert!(text.contains(why), "{text}");
}

#[test]
fn older_and_newer_schemas_are_recognized() {
    assert_eq!(
        compare_with(ours(), true, true).expect("ours"),
        Schema::Current
    );
    let older = compare_with(ours()[..1].to_vec(), true, true).expect("ours");
    assert_eq!(older, Schema::Older { missing: 1 });
    let mut newer = ours();
    newer.push((1_000_000, "later".to_owned(), true, Vec::new()));
    assert_eq!(
        compare_with(newer, true, true).expect("ours"),
        Schema::Newer
    );
}

#[test]
fn damaged_schema_is_unrecognized() {
    let mut failed = ours();
    failed[1].2 = false;
    expect_unrecognized(
        &compare_with(failed, true, true),
        "started and not finished",
    );
    for migration in [0, 1] {
        let mut altered = ours();
        altered[migration].3[0] ^= 1;
        expect_unrecognized(&compare_with(altered, true, true), "its migrations differ");
    }
    expect_unrecognized(
        &compare_with(ours(), false, true),
        "its table \"user\" is missing",
    );
}

#[test]
fn schema_of_another_program_is_unrecognized() {
    let created =
        "another program created its table \"user\"; use a database or a schema of its own";
    expect_unrecognized(&compare_with(Vec::new(), true, true), created);
    expect_unrecognized(
        &compare_with(Vec::new(), false, true),
        "it has tables of another program",
    );
    for (version, name) in [(1, "post"), (20_240_101, "accounts")] {
        let other = vec![(version, name.to_owned(), true, vec![7])];
        let why = format!("the first migration of its owner is {name:?}");
        expect_unrecognized(&compare_with(other, false, true), &why);
    }
}

#[test]
fn empty_database_is_missing_its_schema() {
    for can_create in [true, false] {
        let found = Found {
            applied: Vec::new(),
            has_marker: false,
            others: None,
            can_create,
        };
        let schema = compare(&TABLES, &TABLES.sqlite(), &found).expect("empty");
        assert_eq!(schema, Schema::Missing { can_create });
    }
}
