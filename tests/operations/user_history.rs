//! Tests how posts-service follows the history of users, and refuses the history of another database.

use e2e::{
    ADMIN_PASSWORD, Api, Exit, Process, Store, TestApp, TestDatabase, TestSetup, TestUser,
    for_both_stores, for_split_deployments,
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs};
use tempfile::TempDir;

for_both_stores!(
    a_moment_with_an_empty_or_another_database_takes_no_post,
    an_operator_says_that_another_history_is_right,
);
for_split_deployments!(a_user_who_is_imported_again_keeps_what_they_wrote_since);

const REFUSED: &str = "the history of users cannot be continued";

/// A `rolegate` that keeps posts in one database, and can be started with one or another database of users.
struct Stage {
    setup: TestSetup,
    posts: TestDatabase,
    folder: TempDir,
}

impl Stage {
    async fn new(store: Store) -> Self {
        Self {
            setup: TestSetup::all_in_one(store).with("POSTS_OF_DELETED_USERS", "delete"),
            posts: TestDatabase::create(store).await,
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    fn settings(&self, users: &TestDatabase) -> BTreeMap<String, String> {
        let mut settings = self.setup.auth_settings(&users.url());
        settings.insert("POSTS_DATABASE_URL".to_owned(), self.posts.posts_url());
        settings
    }

    async fn start(&self, users: &TestDatabase) -> (Process, Api) {
        let program = self.setup.auth_program();
        let process = Process::start(program, &self.settings(users), self.folder.path());
        let process = process.ready().await;
        let bearer = Api::at(&process.address("bearer"));
        (process, bearer)
    }

    async fn accept_history(&self, users: &TestDatabase) -> Exit {
        let program = self.setup.auth_program();
        let settings = self.settings(users);
        Process::run(
            program,
            &["accept-history"],
            &settings,
            self.folder.path(),
            "",
        )
        .await
    }

    async fn stop(process: Process) {
        process.terminate();
        assert_eq!(process.exit().await.code, Some(0));
    }
}

/// Waits until posts-service follows the changes. If a user were deleted earlier, they would be missing from the first
/// snapshot. With so few authors, posts-service would then refuse the snapshot.
async fn follows(process: &Process) {
    let says_so = |log: &str| log.contains("follows the changes of users");
    process.logs("that it follows", says_so).await;
}

/// Registers an author, who writes a post.
async fn author(bearer: &Api, name: &str) -> TestUser {
    let admin = TestUser::log_in(bearer, "admin", ADMIN_PASSWORD).await;
    let user = TestUser::register(bearer, name).await;
    let path = format!("/users/{}/role", user.id);
    let role = json!({ "role": "author" });
    let as_admin = bearer.with_token(&admin.token);
    as_admin.put(&path, &role).await.expect(200);
    write(bearer, &user).await;
    user
}

async fn write(bearer: &Api, author: &TestUser) -> Value {
    let post = json!({ "title": author.username, "content": "Text" });
    let as_author = bearer.with_token(&author.token);
    as_author.post("/posts", &post).await.expect(201).json()
}

/// Returns the author's id of each post, or null.
async fn authors(bearer: &Api) -> Vec<Value> {
    let posts = bearer.get("/posts").await.expect(200).json();
    let posts = posts["posts"].as_array().expect("a list").iter();
    posts.map(|post| post["author_id"].clone()).collect()
}

/// Deletes the user, and waits until posts-service has followed the deletion.
async fn delete_and_wait(bearer: &Api, user: &TestUser, expected: &[Value]) {
    let admin = TestUser::log_in(bearer, "admin", ADMIN_PASSWORD).await;
    let path = format!("/users/{}", user.id);
    bearer
        .with_token(&admin.token)
        .delete(&path)
        .await
        .expect(200);
    e2e::eventually("the posts to follow", async || {
        (authors(bearer).await == expected).then_some(())
    })
    .await;
}

async fn a_moment_with_an_empty_or_another_database_takes_no_post(store: Store) {
    let stage = Stage::new(store).await;
    let users = TestDatabase::create(store).await;
    let (process, bearer) = stage.start(&users).await;
    follows(&process).await;
    let (ann, bob) = (author(&bearer, "ann").await, author(&bearer, "bob").await);
    let carl = author(&bearer, "carl").await;
    delete_and_wait(&bearer, &carl, &[json!(ann.id), json!(bob.id)]).await;
    Stage::stop(process).await;
    let other = TestDatabase::create(store).await;
    for is_empty in [true, false] {
        let (process, bearer) = stage.start(&other).await;
        if !is_empty {
            // The other database has some of the same users, and more revisions than the first one.
            for name in ["ann", "dora", "emil", "fritz", "gerd"] {
                TestUser::register(&bearer, name).await;
            }
        }
        process.logs("a refusal", |log| log.contains(REFUSED)).await;
        assert_eq!(
            authors(&bearer).await,
            [json!(ann.id), json!(bob.id)],
            "is empty: {is_empty}"
        );
        Stage::stop(process).await;
    }
    let (_process, bearer) = stage.start(&users).await;
    delete_and_wait(&bearer, &bob, &[json!(ann.id)]).await;
}

async fn an_operator_says_that_another_history_is_right(store: Store) {
    let stage = Stage::new(store).await;
    let users = TestDatabase::create(store).await;
    let missing = stage.accept_history(&users).await;
    assert_eq!(missing.code, Some(64), "no database yet: {missing:?}");
    let (process, bearer) = stage.start(&users).await;
    follows(&process).await;
    let (ann, bob) = (author(&bearer, "ann").await, author(&bearer, "bob").await);
    let carl = author(&bearer, "carl").await;
    delete_and_wait(&bearer, &carl, &[json!(ann.id), json!(bob.id)]).await;
    Stage::stop(process).await;
    let other = TestDatabase::create(store).await;
    let (process, bearer) = stage.start(&other).await;
    TestUser::register(&bearer, "ann").await;
    process.logs("a refusal", |log| log.contains(REFUSED)).await;
    let accepted = stage.accept_history(&other).await;
    assert_eq!(accepted.code, Some(0), "{accepted:?}");
    e2e::eventually("the accepted history to be taken over", async || {
        (authors(&bearer).await == [json!(ann.id)]).then_some(())
    })
    .await;
    // The posts change before the position in the accepted history is stored.
    follows(&process).await;
    // The command accepts one history, so the first history is now the foreign one.
    Stage::stop(process).await;
    let (process, bearer) = stage.start(&users).await;
    process.logs("a refusal", |log| log.contains(REFUSED)).await;
    assert_eq!(authors(&bearer).await, [json!(ann.id)]);
}

async fn a_user_who_is_imported_again_keeps_what_they_wrote_since(setup: TestSetup) {
    let folder = tempfile::tempdir().expect("a folder");
    let key_file = folder.path().join("key");
    let nobodys_key = format!("rgk_{}", "A".repeat(43));
    fs::write(&key_file, &nobodys_key).expect("written");
    let mut app = setup
        .with_file("USER_CHANGES_KEY_FILE", &key_file)
        .start()
        .await;
    let admin = app.admin().await;
    let key = admin.key(&app.bearer).await;
    let (ann, carl) = (
        author(&app.bearer, "ann").await,
        author(&app.bearer, "carl").await,
    );
    let restart_with = async |app: &mut TestApp, key: &str| {
        fs::write(&key_file, key).expect("written");
        app.kill_posts().await;
        app.start_posts().await;
    };
    restart_with(&mut app, &key.token).await;
    follows(app.posts()).await;
    delete_and_wait(&app.bearer, &carl, &[json!(ann.id), Value::Null]).await;
    restart_with(&mut app, &nobodys_key).await;
    let as_admin = app.bearer.with_token(&admin.token);
    as_admin
        .delete(&format!("/users/{}", ann.id))
        .await
        .expect(200);
    let line = json!({ "id": ann.id, "username": "ann", "role": "author", "password_hash": null });
    let import = ["import", "--reuse-ids", "-"];
    let imported = crate::user_commands::user(&app, &import, &line.to_string(), &[]).await;
    assert_eq!(imported.code, Some(0), "{imported:?}");
    let made = as_admin
        .post(&format!("/users/{}/password-link", ann.id), &json!({}))
        .await
        .expect(201)
        .json();
    let token = made["url"].as_str().and_then(|url| url.split('#').nth(1));
    let password = json!({ "token": token.expect("a token"), "password": "another password" });
    app.bearer.put("/password", &password).await.expect(200);
    let again = TestUser::log_in(&app.bearer, "ann", "another password").await;
    assert_eq!(again.id, ann.id);
    app.bearer
        .with_token(&ann.token)
        .get("/me")
        .await
        .expect_detail(401, "Invalid or expired token.");
    write(&app.bearer, &again).await;
    let before = [json!(ann.id), Value::Null, json!(ann.id)];
    assert_eq!(authors(&app.bearer).await, before);
    restart_with(&mut app, &key.token).await;
    e2e::eventually("posts-service to follow", async || {
        let expected = [Value::Null, Value::Null, json!(ann.id)];
        (authors(&app.bearer).await == expected).then_some(())
    })
    .await;
    // posts-service follows later changes, too, and the post that ann wrote after the import is still hers.
    let bob = author(&app.bearer, "bob").await;
    let expected = [Value::Null, Value::Null, json!(ann.id), Value::Null];
    delete_and_wait(&app.bearer, &bob, &expected).await;
}
