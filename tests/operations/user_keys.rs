//! Tests `auth-service user keys`, `user delete-key` and `user list --role`.

use crate::user_commands::{user, without_times};
use e2e::{Exit, TestApp, TestSetup, for_two_deployments};
use serde_json::json;

for_two_deployments!(
    keys_of_a_user_are_listed_and_deleted_one_by_one,
    users_are_listed_by_their_role_and_that_of_their_keys,
    commands_that_end_tokens_end_sessions_too,
);

async fn run(app: &TestApp, arguments: &[&str]) -> Exit {
    let exit = user(app, arguments, "", &[]).await;
    assert_eq!(exit.code, Some(0), "{arguments:?}: {exit:?}");
    exit
}

#[expect(
    clippy::too_many_lines,
    reason = "one story, whose later steps depend on the earlier ones"
)]
async fn keys_of_a_user_are_listed_and_deleted_one_by_one(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user_with_role("ann", "author").await;
    let header = "      ID  PREFIX    ROLE    CREATED               EXPIRES               \
                  LAST USED             NAME\n";
    assert_eq!(run(&app, &["keys", "ann"]).await.stdout, header);
    let nightly = run(&app, &["create-key", "ann", "--name", "nightly"])
        .await
        .stdout;
    let more = ["--role", "user", "--expires-in", "9days"];
    let create = [&["create-key", "ann", "--name", "ex\"port"][..], &more].concat();
    let export = run(&app, &create).await.stdout;
    let asks = |key: &str| app.bearer.with_token(key.trim_end());
    let login = json!({ "username": "ann", "password": ann.password });
    let session = app
        .bearer
        .post("/sessions", &login)
        .await
        .expect(201)
        .json();
    let more = json!({ "name": "by an admin", "role": "user" });
    let admin = app.bearer.with_token(&app.admin().await.token);
    admin
        .post(&format!("/users/{}/keys", ann.id), &more)
        .await
        .expect(201);
    asks(&nightly).get("/author").await.expect(200);
    asks(&export).get("/author").await.expect(403);

    let listed = run(&app, &["keys", "ann"]).await.stdout;
    // The session is not listed, because it is no API key.
    let [title, first, second, third] = listed.lines().collect::<Vec<_>>()[..] else {
        panic!("{listed}")
    };
    assert!(
        third.ends_with("  \"by an admin\"  (created by \"admin\")"),
        "{listed}"
    );
    assert_eq!(title, header.trim_end_matches('\n'));
    let words: Vec<_> = first.split_whitespace().collect();
    let [id, prefix, "-", created, "-", _, "\"nightly\""] = words[..] else {
        panic!("{listed}")
    };
    assert!(nightly.starts_with(prefix) && prefix.len() == 8, "{listed}");
    assert!(
        created.starts_with("20") && created.ends_with('Z') && created.len() == 20,
        "{listed}"
    );
    let words: Vec<_> = second.split_whitespace().collect();
    let [_, _, "user", created, expires, _, "\"ex\\\"port\""] = words[..] else {
        panic!("{listed}")
    };
    assert!(
        created < expires && !listed.contains(nightly.trim_end()),
        "{listed}"
    );

    let nobody = user(&app, &["delete-key", "admin", id], "", &[]).await;
    assert_eq!(nobody.code, Some(1), "another user's key: {nobody:?}");
    let problem = format!("the user \"admin\" has no API key {id}\n");
    assert!(nobody.stderr.ends_with(&problem) && !nobody.stderr.contains("api_key_deleted"));
    let deleted = run(&app, &["delete-key", "ann", id]).await;
    let said = format!("API key {id} of user {} (\"ann\") is deleted.\n", ann.id);
    assert_eq!(deleted.stdout, said);
    let line = deleted
        .stderr
        .lines()
        .find(|line| line.contains("api_key_deleted"));
    let line = line.unwrap_or_default();
    assert!(
        line.contains("operator") && line.contains("ann") && line.contains("key_id"),
        "{line}"
    );
    asks(&nightly).get("/author").await.expect(401);
    asks(&export).get("/protected").await.expect(200);
    assert_eq!(run(&app, &["keys", "ann"]).await.stdout.lines().count(), 3);

    let session_id = session["id"].to_string();
    let session_id = session_id.trim_matches('"');
    for (arguments, code, message) in [
        (&["delete-key", "ann", id][..], 1, "has no API key"),
        (&["delete-key", "ann", session_id], 1, "has no API key"),
        (
            &["delete-key", "stranger", "1"],
            1,
            "there is no user \"stranger\"",
        ),
        (&["keys", "stranger"], 1, "there is no user \"stranger\""),
        (&["delete-key", "ann"], 64, "ID: is required"),
        (
            &["delete-key", "ann", "0"],
            64,
            "ID: must be a whole number from 1 to",
        ),
        (
            &["delete-key", "ann", "one"],
            64,
            "ID: must be a whole number from 1 to",
        ),
        (
            &["delete-key", "ann", "9223372036854775808"],
            64,
            "ID: must be a whole number from 1 to",
        ),
        (&["keys"], 64, "USERNAME: is required"),
    ] {
        let exit = user(&app, arguments, "", &[]).await;
        assert_eq!(exit.code, Some(code), "{arguments:?}: {exit:?}");
        assert!(
            exit.stderr.contains(message) && exit.stdout.is_empty(),
            "{arguments:?}: {exit:?}"
        );
    }
    let token = session["token"].as_str().expect("a token");
    asks(token).get("/protected").await.expect(200);
}

async fn users_are_listed_by_their_role_and_that_of_their_keys(setup: TestSetup) {
    let app = setup.start().await;
    for (name, role) in [("ann", "author"), ("bob", "user"), ("carl", "user")] {
        app.user_with_role(name, role).await;
    }
    for (name, role) in [
        ("bob", "author"),
        ("bob", "author"),
        ("bob", "user"),
        ("ann", "author"),
    ] {
        run(&app, &["create-key", name, "--name", "a", "--role", role]).await;
    }
    run(&app, &["create-key", "carl", "--name", "without a role"]).await;
    let header = "      ID  ROLE    STATE     USERNAME\n";
    let listed = run(&app, &["list", "--role", "author"]).await.stdout;
    let authors = [
        "       2  author  enabled   \"ann\"\n",
        "       3  user    enabled   \"bob\"  (API keys with it: 2)\n",
    ];
    assert_eq!(
        without_times(&listed),
        [header, authors[0], authors[1]].concat()
    );
    for (role, problem) in [
        ("Author", "ROLE: not a role"),
        ("", "ROLE: not a role"),
        ("editor", "ROLE: must be one of: user, author, admin"),
    ] {
        let exit = user(&app, &["list", "--role", role], "", &[]).await;
        assert_eq!((exit.code, &*exit.stdout), (Some(64), ""), "{exit:?}");
        assert!(exit.stderr.starts_with(problem), "{exit:?}");
    }
}

async fn commands_that_end_tokens_end_sessions_too(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let login = json!({ "username": "ann", "password": ann.password });
    for commands in [
        &[&["revoke-tokens", "ann"][..]][..],
        &[&["disable", "ann"], &["enable", "ann"]],
        &[&["reset-password", "ann"]],
    ] {
        let session = app
            .bearer
            .post("/sessions", &login)
            .await
            .expect(201)
            .json();
        let session = app
            .bearer
            .with_token(session["token"].as_str().expect("a token"));
        session.get("/protected").await.expect(200);
        for arguments in commands {
            let exit = user(&app, arguments, &ann.password, &[]).await;
            assert_eq!(exit.code, Some(0), "{arguments:?}: {exit:?}");
        }
        session
            .get("/protected")
            .await
            .expect_detail(401, "Invalid or expired token.");
    }
}
