//! Checks that programs refuse contradictory TLS settings and invalid certificate files.

use super::{expect_rejected, good};
use e2e::{Authority, Program, Store, TestDatabase, Validity};
use std::path::Path;

use Program::{AuthService, Gateway, PostsService, Rolegate};

/// Asserts that each case is refused. A case changes one of the valid TLS settings, or removes it (`None`).
async fn expect_tls_refused(
    program: Program,
    good_tls: &[(&str, &Path)],
    cases: &[(&str, Option<&Path>, &str)],
) {
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    for (changed, path, blamed) in cases {
        let mut settings = good(program, &database);
        let text = |path: &Path| path.display().to_string();
        settings.extend(
            good_tls
                .iter()
                .map(|(name, path)| ((*name).to_owned(), text(path))),
        );
        match path {
            Some(path) => settings.insert((*changed).to_owned(), text(path)),
            None => settings.remove(*changed),
        };
        expect_rejected(program, &settings, folder.path(), blamed).await;
    }
}

/// The settings of an encrypted gRPC port.
const OF_AUTH: [&str; 3] = [
    "AUTH_TLS_CERT_FILE",
    "AUTH_TLS_KEY_FILE",
    "AUTH_TLS_CLIENT_CA_FILE",
];
const OF_POSTS: [&str; 3] = [
    "POSTS_TLS_CERT_FILE",
    "POSTS_TLS_KEY_FILE",
    "POSTS_TLS_CLIENT_CA_FILE",
];
const OF_FORWARD_AUTH: [&str; 3] = [
    "FORWARD_AUTH_TLS_CERT_FILE",
    "FORWARD_AUTH_TLS_KEY_FILE",
    "FORWARD_AUTH_TLS_CLIENT_CA_FILE",
];
/// The settings of encrypted connections to auth-service.
const TO_AUTH: [&str; 3] = [
    "AUTH_CLIENT_TLS_CERT_FILE",
    "AUTH_CLIENT_TLS_KEY_FILE",
    "AUTH_CLIENT_TLS_CA_FILE",
];
const TO_POSTS: [&str; 3] = [
    "POSTS_CLIENT_TLS_CERT_FILE",
    "POSTS_CLIENT_TLS_KEY_FILE",
    "POSTS_CLIENT_TLS_CA_FILE",
];

#[tokio::test]
async fn incomplete_or_invalid_tls_files_are_rejected() {
    let authority = Authority::new();
    let one = authority.issue("one", &["127.0.0.1"], Validity::Current);
    let two = authority.issue("two", &["127.0.0.1"], Validity::Current);
    let ca = authority.file();
    let folder = tempfile::tempdir().expect("a folder");
    let garbage = folder.path().join("garbage");
    // PEM parsers quote a misplaced marker in their errors.
    let text = "-----BEGIN hunter2\n-----BEGIN PRIVATE KEY-----\nhunter2\n";
    std::fs::write(&garbage, text).expect("written");
    let (nowhere, a_folder) = (Path::new("/nowhere/at/all"), folder.path());
    let (encrypted, plain) = (
        Path::new("https://127.0.0.1:1"),
        Path::new("http://127.0.0.1:1"),
    );
    for (program, [cert, key, authorities], url) in [
        (AuthService, OF_AUTH, None),
        (PostsService, OF_POSTS, None),
        (Rolegate, OF_AUTH, None),
        (Rolegate, OF_POSTS, None),
        (Gateway, OF_FORWARD_AUTH, None),
        (Rolegate, OF_FORWARD_AUTH, None),
        (Gateway, TO_AUTH, Some("AUTH_SERVICE_URL")),
        (PostsService, TO_AUTH, Some("AUTH_SERVICE_URL")),
        (Gateway, TO_POSTS, Some("POSTS_SERVICE_URL")),
    ] {
        let mut good_tls = vec![
            (cert, &*one.certificate),
            (key, &*one.key),
            (authorities, &*ca),
        ];
        let mut cases = vec![
            (cert, None, cert),
            (key, None, key),
            (key, Some(&*two.key), key),
        ];
        for name in [cert, key, authorities] {
            cases.extend([nowhere, a_folder, &garbage].map(|path| (name, Some(path), name)));
        }
        // The key and the certificate are swapped.
        cases.push((cert, Some(&*one.key), cert));
        cases.push((key, Some(&*one.certificate), key));
        if let Some(url) = url {
            good_tls.push((url, encrypted));
            cases.push((authorities, None, authorities));
            cases.push((url, Some(plain), url));
        }
        expect_tls_refused(program, &good_tls, &cases).await;
    }
}

#[tokio::test]
async fn client_ca_without_certificate_and_https_without_ca_are_rejected() {
    let authority = Authority::new();
    let ca = authority.file();
    for (program, [cert, _, authorities]) in [
        (AuthService, OF_AUTH),
        (PostsService, OF_POSTS),
        (Gateway, OF_FORWARD_AUTH),
        (Rolegate, OF_FORWARD_AUTH),
    ] {
        expect_tls_refused(program, &[(authorities, &*ca)], &[(cert, None, cert)]).await;
    }
    let encrypted = Path::new("https://127.0.0.1:1");
    for ([_, _, authorities], url) in [
        (TO_AUTH, "AUTH_SERVICE_URL"),
        (TO_POSTS, "POSTS_SERVICE_URL"),
    ] {
        let case = [(authorities, None, authorities)];
        expect_tls_refused(Gateway, &[(url, encrypted)], &case).await;
    }
}

#[tokio::test]
async fn client_tls_files_without_a_service_url_are_rejected() {
    let authority = Authority::new();
    let one = authority.issue("one", &["127.0.0.1"], Validity::Current);
    let ca = authority.file();
    let [cert, key, authorities] = TO_POSTS;
    let url = "POSTS_SERVICE_URL";
    for files in [
        &[(authorities, &*ca)][..],
        &[
            (cert, &*one.certificate),
            (key, &*one.key),
            (authorities, &*ca),
        ],
        &[(key, &*one.key)],
    ] {
        expect_tls_refused(Gateway, files, &[(url, None, url)]).await;
    }
}
