use super::{AppliedMigration, ExistingTables, Schema, compare};
use crate::{Migration, Tables, dialect::Dialect, error::OpenFailure};

const TABLES: Tables = Tables {
    owner: "auth-service",
    marker_table: "user",
    schema: None,
    migrations: &[
        Migration {
            version: 1,
            name: "user",
            postgres: "",
            sqlite: "CREATE TABLE one",
        },
        Migration {
            version: 2,
            name: "more",
            postgres: "",
            sqlite: "CREATE TABLE two",
        },
    ],
};

fn ours() -> Vec<AppliedMigration> {
    let migrator = TABLES.migrator(Dialect::Sqlite);
    let applied = migrator.iter().map(|migration| AppliedMigration {
        version: migration.version,
        description: migration.description.clone().into_owned(),
        success: true,
        checksum: migration.checksum.to_vec(),
    });
    applied.collect()
}

fn compare_with(
    applied: Vec<AppliedMigration>,
    has_marker: bool,
    has_others: bool,
) -> Result<Schema, OpenFailure> {
    let found = ExistingTables {
        applied,
        has_marker,
        conflict: has_others.then_some("it has tables of another program"),
        can_create: true,
    };
    compare(&TABLES, &TABLES.migrator(Dialect::Sqlite), &found)
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
    newer.push(AppliedMigration {
        version: 1_000_000,
        description: "later".to_owned(),
        success: true,
        checksum: Vec::new(),
    });
    assert_eq!(
        compare_with(newer, true, true).expect("ours"),
        Schema::Newer
    );
}

#[test]
fn damaged_schema_is_unrecognized() {
    let mut failed = ours();
    failed[1].success = false;
    expect_unrecognized(
        &compare_with(failed, true, true),
        "started and not finished",
    );
    for migration in [0, 1] {
        let mut altered = ours();
        altered[migration].checksum[0] ^= 1;
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
        let other = vec![AppliedMigration {
            version,
            description: name.to_owned(),
            success: true,
            checksum: vec![7],
        }];
        let why = format!("the first migration of its owner is {name:?}");
        expect_unrecognized(&compare_with(other, false, true), &why);
    }
}

#[test]
fn empty_database_is_missing_its_schema() {
    for can_create in [true, false] {
        let found = ExistingTables {
            applied: Vec::new(),
            has_marker: false,
            conflict: None,
            can_create,
        };
        let schema = compare(&TABLES, &TABLES.migrator(Dialect::Sqlite), &found).expect("empty");
        assert_eq!(schema, Schema::Missing { can_create });
    }
}
