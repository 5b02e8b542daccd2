//! A running deployment, and the requests that most tests send to it.

use crate::{
    ADMIN_PASSWORD, Api, Process, Program, TcpProxy, TestDatabase, TestResponse, TestSetup,
    TestUser,
    test_setup::owned,
    test_user::{log_in, register},
};
use serde_json::json;
use std::{collections::BTreeMap, path::Path};
use tempfile::TempDir;

/// A running deployment on a database of its own. It ends when it is dropped.
#[derive(Debug)]
pub struct TestApp {
    setup: TestSetup,
    auth: Process,
    /// The process of posts-service; `None` if everything is in one process.
    posts: Option<Process>,
    gateway: Option<Process>,
    /// The proxy from the gateway and posts-service to auth-service. It keeps its address when
    /// auth-service restarts.
    auth_proxy: Option<TcpProxy>,
    /// The proxy from the gateway to posts-service.
    posts_proxy: Option<TcpProxy>,
    /// The proxy from the services to PostgreSQL, if the setup asks for it.
    database_proxy: Option<TcpProxy>,
    /// A client of the bearer address, without credentials.
    pub bearer: Api,
    /// A client of the Basic address, without credentials.
    pub basic: Api,
    folder: TempDir,
    /// The database. The last field, so that it is dropped after the processes that use it.
    pub database: TestDatabase,
}

/// The processes of a split deployment, which `rolegate` replaces by connections in memory.
struct SplitProcesses {
    posts: Process,
    gateway: Process,
    auth_proxy: TcpProxy,
    posts_proxy: TcpProxy,
}

impl TestSetup {
    /// Starts the deployment on an empty database.
    pub async fn start(self) -> TestApp {
        let database = self.create_database().await;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (url, database_proxy) = self.database_url(&database);
        let auth = Process::start(
            self.auth_program(),
            &self.auth_settings(&url),
            folder.path(),
        );
        let auth = auth.ready().await;
        let split = if self.is_all_in_one {
            None
        } else {
            let posts_url = if database_proxy.is_some() {
                url.clone()
            } else {
                database.posts_url()
            };
            Some(self.start_split(&auth, &posts_url, folder.path()).await)
        };
        let gateway = split.as_ref().map_or(&auth, |split| &split.gateway);
        let (bearer, basic) = (
            Api::at(&gateway.address("bearer")),
            Api::at(&gateway.address("basic")),
        );
        let (posts, gateway, auth_proxy, posts_proxy) = match split {
            Some(SplitProcesses {
                posts,
                gateway,
                auth_proxy,
                posts_proxy,
            }) => (
                Some(posts),
                Some(gateway),
                Some(auth_proxy),
                Some(posts_proxy),
            ),
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

    async fn start_split(&self, auth: &Process, posts_url: &str, folder: &Path) -> SplitProcesses {
        let auth_proxy = TcpProxy::to(auth.socket_address("grpc"));
        let settings = self.posts_settings(posts_url, auth_proxy.address());
        let posts = Process::start(Program::PostsService, &settings, folder)
            .ready()
            .await;
        let posts_proxy = TcpProxy::to(posts.socket_address("grpc"));
        let settings = self.gateway_settings(auth_proxy.address(), Some(posts_proxy.address()));
        let gateway = Process::start(Program::Gateway, &settings, folder)
            .ready()
            .await;
        SplitProcesses {
            posts,
            gateway,
            auth_proxy,
            posts_proxy,
        }
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
    /// Returns the process that serves auth.
    #[must_use]
    pub fn auth(&self) -> &Process {
        &self.auth
    }

    /// Returns the process that serves HTTP.
    #[must_use]
    pub fn gateway(&self) -> &Process {
        self.gateway.as_ref().unwrap_or(&self.auth)
    }

    /// Returns all processes.
    pub fn processes(&self) -> impl Iterator<Item = &Process> {
        std::iter::once(&self.auth)
            .chain(&self.posts)
            .chain(&self.gateway)
    }

    /// Returns the processes, so that the test can observe how they end, and the database that they
    /// need.
    #[must_use]
    pub fn into_processes(self) -> (Vec<Process>, TestDatabase) {
        let processes = std::iter::once(self.auth)
            .chain(self.posts)
            .chain(self.gateway);
        (processes.collect(), self.database)
    }

    /// Returns the proxy to the database.
    ///
    /// # Panics
    ///
    /// Panics if the setup has none.
    pub fn database_proxy(&mut self) -> &mut TcpProxy {
        self.database_proxy.as_mut().expect("with_database_proxy")
    }

    /// Returns the proxy from the gateway and posts-service to auth-service.
    ///
    /// # Panics
    ///
    /// Panics if everything is in one process.
    pub fn auth_proxy(&mut self) -> &mut TcpProxy {
        self.auth_proxy.as_mut().expect("split")
    }

    /// Returns the process that serves posts.
    #[must_use]
    pub fn posts(&self) -> &Process {
        self.posts.as_ref().unwrap_or(&self.auth)
    }

    /// Returns the URL of the gRPC address of posts.
    #[must_use]
    pub fn posts_address(&self) -> String {
        let listener = if self.posts.is_some() {
            "grpc"
        } else {
            "posts"
        };
        self.posts().address(listener)
    }

    /// Sends SIGKILL to posts-service.
    ///
    /// # Panics
    ///
    /// Panics if everything is in one process.
    pub async fn kill_posts(&mut self) {
        self.posts.as_mut().expect("split").kill().await;
    }

    /// Returns the proxy from the gateway to posts-service.
    ///
    /// # Panics
    ///
    /// Panics if everything is in one process.
    pub fn posts_proxy(&mut self) -> &mut TcpProxy {
        self.posts_proxy.as_mut().expect("split")
    }

    /// Starts posts-service again on the same database.
    ///
    /// # Panics
    ///
    /// Panics if everything is in one process.
    pub async fn start_posts(&mut self) {
        let auth = self.auth_proxy.as_ref().expect("split").address();
        let settings = self.setup.posts_settings(&self.database.posts_url(), auth);
        let posts = Process::start(Program::PostsService, &settings, self.folder.path());
        let posts = posts.ready().await;
        self.posts_proxy().retarget(posts.socket_address("grpc"));
        self.posts = Some(posts);
    }

    /// Sends SIGKILL to the process that serves auth.
    pub async fn kill_auth(&mut self) {
        self.auth.kill().await;
    }

    /// Starts the process that serves auth again, with or without a changed setting. `rolegate`
    /// gets new addresses.
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

    /// Sends SIGKILL to the process that serves HTTP, and starts it again at a new address.
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

    /// Starts another auth-service on the same database. Returns the old one, which the gateway
    /// calls until the proxy gets another target.
    pub async fn start_second_auth(&mut self) -> Process {
        let settings = self.setup.auth_settings(&self.database.url());
        let auth = Process::start(self.setup.auth_program(), &settings, self.folder.path());
        std::mem::replace(&mut self.auth, auth.ready().await)
    }

    /// Starts another process that serves HTTP, on the same database. Returns the old one.
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

    /// Returns the process that serves auth, and the proxy to it.
    ///
    /// # Panics
    ///
    /// Panics if everything is in one process.
    #[must_use]
    pub fn auth_and_proxy(&self) -> (&Process, &TcpProxy) {
        (&self.auth, self.auth_proxy.as_ref().expect("split"))
    }

    /// Returns the settings of the gateway, or `None` if everything is in one process.
    fn gateway_settings(&self) -> Option<BTreeMap<String, String>> {
        let (auth, posts) = (self.auth_proxy.as_ref()?, self.posts_proxy.as_ref()?);
        Some(
            self.setup
                .gateway_settings(auth.address(), Some(posts.address())),
        )
    }

    fn update_addresses(&mut self) {
        self.bearer = Api::at(&self.gateway().address("bearer"));
        self.basic = Api::at(&self.gateway().address("basic"));
    }

    /// Sends a registration.
    pub async fn try_register(&self, username: &str, password: &str) -> TestResponse {
        register(&self.bearer, username, password).await
    }

    /// Sends a login.
    pub async fn try_log_in(&self, username: &str, password: &str) -> TestResponse {
        log_in(&self.bearer, username, password).await
    }

    /// Logs in the seeded admin.
    pub async fn admin(&self) -> TestUser {
        TestUser::log_in(&self.bearer, "admin", ADMIN_PASSWORD).await
    }

    /// Registers a user with this name and logs in.
    pub async fn user(&self, username: &str) -> TestUser {
        TestUser::register(&self.bearer, username).await
    }

    /// Registers a user and gives the user this role. The token is from before the role was set.
    pub async fn user_with_role(&self, username: &str, role: &str) -> TestUser {
        let user = self.user(username).await;
        let admin = self.admin().await;
        self.set_role(&admin, &user, role)
            .await
            .expect_message("User role updated successfully.");
        user
    }

    /// Sends a role change for `target` as `actor`.
    pub async fn set_role(&self, actor: &TestUser, target: &TestUser, role: &str) -> TestResponse {
        let path = format!("/users/{}/role", target.id);
        self.bearer
            .with_token(&actor.token)
            .put(&path, &json!({ "role": role }))
            .await
    }
}
