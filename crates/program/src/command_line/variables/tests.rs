use super::{SETTINGS, distance, is_expected, is_flag, nearest, with_prefix};
use std::ffi::OsString;

#[test]
fn a_name_within_two_letters_and_a_third_of_a_setting_is_near_it() {
    for (name, setting) in [
        ("BCRYPT_COSTS", "BCRYPT_COST"),
        ("BCRPYT_COST", "BCRYPT_COST"),
        ("bcrypt_cost", "BCRYPT_COST"),
        ("DATABASE_URI", "DATABASE_URL"),
        ("DATABASEURL", "DATABASE_URL"),
        ("DATABASE_URL_FILES", "DATABASE_URL_FILE"),
        ("POST", "POSTS"),
        ("SIGNIN", "SIGN_IN"),
        ("TRUSTED_PROXY", "TRUSTED_PROXIES"),
    ] {
        let is_near = distance(setting, &name.to_uppercase()) <= 2;
        assert_eq!(nearest(name), is_near.then_some(setting), "{name}");
    }
    for far in [
        "",
        "PO",
        "OST",
        "MODE",
        "DATABASE",
        "BCRYPT",
        "SOME_OTHER_PROGRAM",
        "É",
    ] {
        assert_eq!(nearest(far), None, "{far}");
    }
}

#[test]
fn what_kubernetes_sets_for_services_is_no_setting_however_near() {
    for link in [
        "SERVICE_HOST",
        "SERVICE_PORT",
        "SERVICE_PORT_HTTP",
        "PORT",
        "PORT_8000_TCP",
        "PORT_8000_TCP_ADDR",
        "GATEWAY_SERVICE_HOST",
        "GATEWAY_PORT_8000_TCP_PROTO",
        "POSTS_PORT",
        "SIGN_IN_PORT",
    ] {
        assert!(is_expected(&with_prefix(link)), "{link}");
    }
    for setting in SETTINGS.lines() {
        assert!(is_expected(&with_prefix(setting)), "{setting}");
    }
    for other in ["BCRYPT_COSTS", "PORTS", "SERVICE_HOSTS", "IMPORT"] {
        assert!(!is_expected(&with_prefix(other)), "{other}");
    }
}

#[test]
fn a_flag_is_found_with_its_value_beside_or_behind_it() {
    let arguments = ["sample", "--signing-secret-file=a=b", "--first", "7"].map(OsString::from);
    for (name, is_given) in [
        ("SIGNING_SECRET_FILE", true),
        ("FIRST", true),
        ("SIGNING_SECRET", false),
        ("SEVEN", false),
    ] {
        assert_eq!(is_flag(&arguments, name), is_given, "{name}");
    }
}

#[test]
fn the_distance_is_that_of_levenshtein() {
    for (one, other, letters) in [
        ("", "", 0),
        ("", "abc", 3),
        ("abc", "", 3),
        ("abc", "abc", 0),
        ("abc", "acb", 2),
        ("kitten", "sitting", 3),
    ] {
        assert_eq!(distance(one, other), letters, "{one} {other}");
    }
}
