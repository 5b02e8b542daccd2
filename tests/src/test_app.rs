//! The service as a test wants it.

use crate::{
    ADMIN_PASSWORD, Api, Process, Program, TcpProxy, TestDatabase, TestSetup, TestUser,
    test_setup::owned,
    test_user::{log_in, register},
};
use serde_json::json;
use std::{collections::BTreeMap, path::Path};
use tempfile::TempDir;

/// A running service with a database of its own. Ends with the test.
#[derive(Debug)]
pub struct TestApp {
    setup: TestSetup,
    auth: Process,
    /// `None` when everything is in one process.
    posts: Option<Process>,
    gateway: Option<Process>,
    /// From gateway and posts-service to auth-service; keeps its address when auth-service moves.
    auth_proxy: Option<TcpProxy>,
    /// From gateway to posts-service.
    posts_proxy: Option<TcpProxy>,
    /// Between auth-service and PostgreSQL, where the plan asks for it.
    database_proxy: Option<TcpProxy>,
    /// The address without credentials that serves the bearer variant.
    pub bearer: Api,
    /// The address without credentials that serves the Basic variant.
    pub basic: Api,
    folder: TempDir,
    /// Where its users are. Last, so that it goes when nobody uses it any more.
    pub database: TestDatabase,
}

struct Apart {
    posts: Process,
    gateway: Process,
    auth_proxy: TcpProxy,
    posts_proxy: TcpProxy,
}

impl TestSetup {
    /// Makes it so, on an empty database.
    pub async fn start(self) -> TestApp {
        let database = TestDatabase::create(self.store).await;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (url, database_proxy) = self.database_url(&database);
        let auth = Process::start(self.auth_program(), &self.auth_settings(&url), folder.path());
        let auth = auth.ready().await;
        let apart = if self.is_all_in_one {
            None
        } else {
            let posts_url =
                if database_proxy.is_some() { url.clone() } else { database.posts_url() };
            Some(self.start_apart(&auth, &posts_url, folder.path()).await)
        };
        let front = apart.as_ref().map_or(&auth, |apart| &apart.gateway);
        let (bearer, basic) = (Api::at(&front.address("bearer")), Api::at(&front.address("basic")));
        let (posts, gateway, auth_proxy, posts_proxy) = match apart {
            Some(Apart { posts, gateway, auth_proxy, posts_proxy }) => {
                (Some(posts), Some(gateway), Some(auth_proxy), Some(posts_proxy))
            }
            None => (None, None, None, None),
        };
        TestApp {
            setup: self,
            auth,
            posts,
            gateway,
            auth_proxy,
            posts_proxy,
            database_proxy,
            bearer,
            basic,
            folder,
            database,
        }
    }

    /// What rolegate has within itself.
    async fn start_apart(&self, auth: &Process, posts_url: &str, folder: &Path) -> Apart {
        let auth_proxy = TcpProxy::to(auth.socket_address("grpc"));
        let settings = self.posts_settings(posts_url, auth_proxy.address());
        let posts = Process::start(Program::PostsService, &settings, folder).ready().await;
        let posts_proxy = TcpProxy::to(posts.socket_address("grpc"));
        let settings = self.gateway_settings(auth_proxy.address(), Some(posts_proxy.address()));
        let gateway = Process::start(Program::Gateway, &settings, folder).ready().await;
        Apart { posts, gateway, auth_proxy, posts_proxy }
    }

    fn database_url(&self, database: &TestDatabase) -> (String, Option<TcpProxy>) {
        if !self.has_database_proxy {
            return (database.url(), None);
        }
        let proxy = TcpProxy::to(database.address());
        (database.url_through(proxy.address()), Some(proxy))
    }
}

impl TestApp {
    /// The process that owns the users.
    #[must_use]
    pub fn auth(&self) -> &Process {
        &self.auth
    }

    /// The process that clients talk to.
    #[must_use]
    pub fn gateway(&self) -> &Process {
        self.gateway.as_ref().unwrap_or(&self.auth)
    }

    /// Every process.
    pub fn processes(&self) -> impl Iterator<Item = &Process> {
        std::iter::once(&self.auth).chain(&self.posts).chain(&self.gateway)
    }

    /// Ends the world and returns its processes, to see how they end.
    #[must_use]
    pub fn into_processes(self) -> (Vec<Process>, TestDatabase) {
        let processes = std::iter::once(self.auth).chain(self.posts).chain(self.gateway);
        (processes.collect(), self.database)
    }

    /// The way to the database.
    ///
    /// # Panics
    ///
    /// When the plan did not ask for one.
    pub fn database_proxy(&mut self) -> &mut TcpProxy {
        self.database_proxy.as_mut().expect("planned with_database_proxy")
    }

    /// The way from gateway to auth-service.
    ///
    /// # Panics
    ///
    /// In one process there is none.
    pub fn auth_proxy(&mut self) -> &mut TcpProxy {
        self.auth_proxy.as_mut().expect("planned split")
    }

    /// The process that owns the posts.
    #[must_use]
    pub fn posts(&self) -> &Process {
        self.posts.as_ref().unwrap_or(&self.auth)
    }

    /// Where posts-service's gRPC is served.
    #[must_use]
    pub fn posts_address(&self) -> String {
        let listener = if self.posts.is_some() { "grpc" } else { "posts" };
        self.posts().address(listener)
    }

    /// Kills posts-service.
    ///
    /// # Panics
    ///
    /// In one process there is none to be killed alone.
    pub async fn kill_posts(&mut self) {
        self.posts.as_mut().expect("planned split").kill().await;
    }

    /// The way from gateway to posts-service.
    ///
    /// # Panics
    ///
    /// In one process there is none.
    pub fn posts_proxy(&mut self) -> &mut TcpProxy {
        self.posts_proxy.as_mut().expect("planned split")
    }

    /// Starts posts-service again on the same posts.
    ///
    /// # Panics
    ///
    /// In one process.
    pub async fn start_posts(&mut self) {
        let auth = self.auth_proxy.as_ref().expect("planned split").address();
        let settings = self.setup.posts_settings(&self.database.posts_url(), auth);
        let posts = Process::start(Program::PostsService, &settings, self.folder.path());
        let posts = posts.ready().await;
        self.posts_proxy().retarget(posts.socket_address("grpc"));
        self.posts = Some(posts);
    }

    /// Kills the process that owns the users, as `kill -9` does.
    pub async fn kill_auth(&mut self) {
        self.auth.kill().await;
    }

    /// Starts it again, with one setting changed or none. Clients of an rolegate find it at a new
    /// address.
    pub async fn start_auth(&mut self, change: Option<(&str, &str)>) {
        let url = match &self.database_proxy {
            Some(proxy) => self.database.url_through(proxy.address()),
            None => self.database.url(),
        };
        let mut settings = self.setup.auth_settings(&url);
        settings.extend(change.map(owned));
        let auth = Process::start(self.setup.auth_program(), &settings, self.folder.path());
        self.auth = auth.ready().await;
        match &self.auth_proxy {
            Some(proxy) => proxy.retarget(self.auth.socket_address("grpc")),
            None => self.update_addresses(),
        }
    }

    /// Kills the process that clients talk to and starts it again at a new address.
    pub async fn restart_gateway(&mut self) {
        let Some(settings) = self.gateway_settings() else {
            self.kill_auth().await;
            return self.start_auth(None).await;
        };
        self.gateway.as_mut().expect("it has settings").kill().await;
        let gateway = Process::start(Program::Gateway, &settings, self.folder.path());
        self.gateway = Some(gateway.ready().await);
        self.update_addresses();
    }

    /// Starts another auth-service on the same users and returns the old one, which gateway still
    /// talks to until the way leads elsewhere.
    pub async fn start_second_auth(&mut self) -> Process {
        let settings = self.setup.auth_settings(&self.database.url());
        let auth = Process::start(self.setup.auth_program(), &settings, self.folder.path());
        std::mem::replace(&mut self.auth, auth.ready().await)
    }

    /// Starts another process for clients to talk to, on the same users, and returns the old one.
    pub async fn start_second_gateway(&mut self) -> Process {
        let Some(settings) = self.gateway_settings() else {
            let old = self.start_second_auth().await;
            self.update_addresses();
            return old;
        };
        let gateway = Process::start(Program::Gateway, &settings, self.folder.path());
        let old = self.gateway.replace(gateway.ready().await);
        self.update_addresses();
        old.expect("there was one")
    }

    /// The process that owns the users, and the way from gateway to it.
    ///
    /// # Panics
    ///
    /// In one process there is no way.
    #[must_use]
    pub fn auth_and_proxy(&self) -> (&Process, &TcpProxy) {
        (&self.auth, self.auth_proxy.as_ref().expect("planned split"))
    }

    /// `None` in one process.
    fn gateway_settings(&self) -> Option<BTreeMap<String, String>> {
        let (auth, posts) = (self.auth_proxy.as_ref()?, self.posts_proxy.as_ref()?);
        Some(self.setup.gateway_settings(auth.address(), Some(posts.address())))
    }

    fn update_addresses(&mut self) {
        self.bearer = Api::at(&self.gateway().address("bearer"));
        self.basic = Api::at(&self.gateway().address("basic"));
    }

    /// Asks for a registration.
    pub async fn try_register(&self, username: &str, password: &str) -> crate::TestResponse {
        register(&self.bearer, username, password).await
    }

    /// Asks for a token.
    pub async fn try_log_in(&self, username: &str, password: &str) -> crate::TestResponse {
        log_in(&self.bearer, username, password).await
    }

    /// The seeded admin, logged in.
    pub async fn admin(&self) -> TestUser {
        TestUser::log_in(&self.bearer, "admin", ADMIN_PASSWORD).await
    }

    /// A new user of this name, logged in.
    pub async fn user(&self, username: &str) -> TestUser {
        TestUser::register(&self.bearer, username).await
    }

    /// A new user with this role, logged in before getting it.
    pub async fn user_with_role(&self, username: &str, role: &str) -> TestUser {
        let user = self.user(username).await;
        let admin = self.admin().await;
        self.set_role(&admin, &user, role).await.expect_message("User role updated successfully.");
        user
    }

    /// Asks, as this actor, for another role for somebody.
    pub async fn set_role(
        &self,
        actor: &TestUser,
        whom: &TestUser,
        role: &str,
    ) -> crate::TestResponse {
        let path = format!("/users/{}/role", whom.id);
        self.bearer.with_token(&actor.token).put(&path, &json!({ "role": role })).await
    }
}
