use super::KeySource;
use rolegate_program::secret::SecretSource;
use secrecy::SecretString;
use std::{fs, path::Path};

const ONE: &str = "one secret of more than 32 bytes exactly";
const TWO: &str = "two secrets  of more than 32 bytes";
const THREE: &str = "three secrets of more than 32 bytes";

fn given(name: &str, secret: &str) -> SecretSource {
    SecretSource::from_setting(name, Some(SecretString::from(secret)), None)
        .expect("one")
        .expect("given")
}

fn accepting(accepted: SecretSource) -> Result<Vec<String>, String> {
    let signing = given("SIGNING_SECRET", THREE);
    let source = KeySource {
        signing,
        accepted: Some(accepted),
    };
    let keyring = source.read().map_err(|error| error.to_string())?;
    Ok(keyring.kids().map(str::to_owned).collect())
}

fn value(text: &str) -> Result<Vec<String>, String> {
    accepting(given("SIGNING_SECRETS_ACCEPTED", text))
}

fn file(text: &str) -> Result<Vec<String>, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("accepted");
    fs::write(&path, text).expect("written");
    accepting(SecretSource::from_file(
        "SIGNING_SECRETS_ACCEPTED_FILE",
        &path,
    ))
}

#[test]
fn a_list_is_of_commas_or_lines_and_a_secret_given_twice_is_one_key() {
    let ids = file(&format!("{ONE}\n{TWO}\n{THREE}\n{TWO}\n")).expect("valid");
    assert_eq!(ids.len(), 3, "{ids:?}");
    for same in [
        format!("{ONE}\n{TWO}"),
        format!("{ONE},{TWO}"),
        format!("{ONE},{TWO},{ONE}"),
        format!("{ONE}\r\n{TWO}"),
    ] {
        assert_eq!(file(&same).expect("valid"), ids, "{same:?}");
        assert_eq!(value(&same).expect("valid"), ids, "{same:?}");
    }
    assert_ne!(
        value(&TWO.replace("  ", " ")).expect("valid")[1],
        ids[2],
        "white space counts"
    );
}

#[test]
fn an_empty_value_is_no_further_key_and_an_empty_file_is_a_fault() {
    assert_eq!(value("").expect("valid").len(), 1);
    for nothing in ["", "\n"] {
        let error = file(nothing).expect_err("empty");
        assert!(error.contains("of the list"), "{error}");
    }
}

#[test]
fn a_list_with_something_short_in_it_is_refused_and_not_shown() {
    let long = "hunter2".repeat(5);
    let wrongs = [
        "hunter2".into(),
        format!("{long}\n\n{long}"),
        format!("{long}, {long}"),
        format!(",{long}"),
        format!("{long},x"),
    ];
    for wrong in &wrongs {
        for outcome in [file(wrong), value(wrong)] {
            // The secrets are refused both from a file and from an environment variable.
            let Err(error) = outcome else {
                panic!("{wrong:?} was taken")
            };
            assert!(error.starts_with("SIGNING_SECRETS_ACCEPTED"), "{error}");
            assert!(error.contains("of the list"), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}

#[test]
fn what_cannot_be_read_names_its_setting() {
    let nowhere = SecretSource::from_file("SIGNING_SECRETS_ACCEPTED_FILE", Path::new("/nowhere/x"));
    let error = accepting(nowhere).expect_err("missing");
    assert_eq!(
        error,
        "SIGNING_SECRETS_ACCEPTED_FILE: /nowhere/x does not exist"
    );
    let short = KeySource {
        signing: given("SIGNING_SECRET", "hunter2"),
        accepted: None,
    };
    let error = short.read().expect_err("short").to_string();
    assert!(
        error.starts_with("SIGNING_SECRET: must have at least 32 bytes"),
        "{error}"
    );
}
