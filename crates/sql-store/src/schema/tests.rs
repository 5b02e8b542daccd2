use super::{Applied, Found, Schema, compare};
use crate::tables::Tables;

const TABLES: Tables = Tables {
    owner: "auth-service",
    marker_table: "user",
    schema: None,
    postgres: &[],
    sqlite: &[(1, "user", "CREATE TABLE one"), (2, "more", "CREATE TABLE two")],
};

fn ours() -> Vec<Applied> {
    let migrator = TABLES.sqlite();
    let applied = migrator
        .iter()
        .map(|it| (it.version, it.description.clone().into_owned(), true, it.checksum.to_vec()));
    applied.collect()
}

fn look(applied: Vec<Applied>, has_marker: bool, has_others: bool) -> Schema {
    let found = Found { applied, has_marker, has_others, can_create: true };
    compare(&TABLES, &TABLES.sqlite(), &found)
}

#[track_caller]
fn expect_unrecognized(schema: &Schema, why: &str) {
    let Schema::Unrecognized(said) = schema else { panic!("{schema:?} is not foreign") };
    assert!(said.contains(why), "{said}");
}

#[test]
fn a_schema_is_told_from_older_and_newer_ones() {
    assert_eq!(look(ours(), true, true), Schema::Current);
    assert_eq!(look(ours()[..1].to_vec(), true, true), Schema::Older { missing: 1 });
    let mut newer = ours();
    newer.push((1_000_000, "later".to_owned(), true, Vec::new()));
    assert_eq!(look(newer, true, true), Schema::Newer);
}

#[test]
fn what_no_migration_puts_right_is_told() {
    let mut failed = ours();
    failed[1].2 = false;
    expect_unrecognized(&look(failed, true, true), "begun and not finished");
    for migration in [0, 1] {
        let mut altered = ours();
        altered[migration].3[0] ^= 1;
        expect_unrecognized(&look(altered, true, true), "or an altered one, made its tables");
    }
    expect_unrecognized(&look(ours(), false, true), "its table \"user\" is gone");
}

#[test]
fn a_store_of_another_service_is_told_by_its_name() {
    let posts = vec![(1, "post".to_owned(), true, vec![7])];
    let schema = look(posts, false, true);
    assert_eq!(
        schema,
        Schema::Unrecognized("belongs to posts-service, not to auth-service".to_owned())
    );
}

#[test]
fn tables_of_another_program_are_none_of_ours() {
    expect_unrecognized(&look(Vec::new(), true, true), "another program made its table \"user\"");
    expect_unrecognized(&look(Vec::new(), false, true), "it has tables of another program");
    // Another user of the same migrator, who counts versions by the day.
    let other = vec![(20_240_101, "accounts".to_owned(), true, vec![7])];
    expect_unrecognized(&look(other, false, true), "another program, or an altered one");
}

#[test]
fn an_empty_database_is_no_fault() {
    for can_create in [true, false] {
        let found = Found { applied: Vec::new(), has_marker: false, has_others: false, can_create };
        let schema = compare(&TABLES, &TABLES.sqlite(), &found);
        assert_eq!(schema, Schema::Missing { can_create });
    }
}
