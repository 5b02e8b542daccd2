//! The deployment behind `clients/conformance.json`, with the states and faults that its cases
//! name.
//!
//! [`ClientStage`] starts two replicas, which `replica` configures. A test creates a user with
//! [`ClientStage::user`], and brings about a state or a fault by its name in the table.
//! `tls_replica` adds a replica with mutual TLS.

mod replica;
mod tls_replica;

use crate::{
    ADMIN_PASSWORD, Process, SIGNING_SECRET, Store, TcpProxy, TestDatabase, TestSetup, eventually,
    grpc, token,
};
use prost_types::Timestamp;
use replica::start;
use rolegate_proto::auth_v1::{
    AllSessions, ChangePasswordRequest, CreateApiKeyRequest, CreateGroupRequest,
    CreateSessionRequest, DeleteMembershipRequest, DeleteSessionsRequest, DeleteUserRequest,
    GetUserRequest, GroupNames, LoginRequest, RegisterRequest, RevokeTokensRequest,
    SetMembershipRequest, SetUserDisabledRequest, SetUserRoleRequest, UpdateUserRequest, User,
    auth_service_client::AuthServiceClient, delete_sessions_request::Sessions,
    update_user_request::End,
};
use std::{collections::HashMap, fs, path::PathBuf};
use tempfile::TempDir;
use tonic::transport::Channel;

pub use tls_replica::TlsReplica;

/// The addresses of the replicas. [`HOST`] resolves to both.
const ADDRESSES: [&str; 2] = ["127.0.9.2", "127.0.9.3"];

/// The name of both replicas, in the file of [`ClientStage::hosts`].
const HOST: &str = "auth.test";

const PASSWORD: &str = "the password of a case";

/// The groups that exist. At first, nobody is in them.
const GROUPS: [&str; 2] = ["crew", "staff"];

/// Two replicas of auth-service on one PostgreSQL database.
#[derive(Debug)]
pub struct ClientStage {
    setup: TestSetup,
    replicas: [Process; 2],
    port: u16,
    /// Whether both replicas run and nothing is frozen.
    is_whole: bool,
    /// The proxy between each replica and the database.
    database_proxies: [TcpProxy; 2],
    /// The ids of the groups by their names.
    group_ids: HashMap<&'static str, i64>,
    cases: u32,
    folder: TempDir,
    /// The database. The last field, so that it is dropped after the processes that use it.
    database: TestDatabase,
}

/// The user and the token of a case. The token may be a session or an API key.
#[derive(Clone, Debug)]
pub struct CaseUser {
    id: i64,
    fresh_token: String,
    /// The token that the case presents.
    pub token: String,
}

impl ClientStage {
    /// Starts both replicas.
    pub async fn start() -> Self {
        let setup = TestSetup::split(Store::Postgres).with("EXTRA_ROLES", "editor");
        let database = TestDatabase::create(setup.store()).await;
        let database_proxies = [(); 2].map(|()| TcpProxy::to(database.address()));
        let folder = tempfile::tempdir().expect("a temporary folder");
        let [first_url, second_url] =
            [0, 1].map(|index: usize| database.url_through(database_proxies[index].address()));
        let first = start(&setup, &first_url, ADDRESSES[0], 0, &folder).await;
        // Both replicas listen on one port, because a name can have many addresses but only one
        // port.
        let port = first.socket_address("grpc").port();
        let second = start(&setup, &second_url, ADDRESSES[1], port, &folder).await;
        let hosts = ADDRESSES.map(|ip| format!("{ip} {HOST}\n")).concat();
        let hosts = format!("127.0.0.1 localhost\n{hosts}{}", tls_replica::HOSTS);
        fs::write(folder.path().join("hosts"), hosts).expect("a writable folder");
        let replicas = [first, second];
        let mut stage = Self {
            setup,
            replicas,
            port,
            is_whole: true,
            database_proxies,
            group_ids: HashMap::new(),
            cases: 0,
            folder,
            database,
        };
        stage.create_groups().await;
        stage
    }

    /// Returns the value for `AUTH_SERVICE_URL`, for programs that resolve names by
    /// [`ClientStage::hosts`].
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{HOST}:{}", self.port)
    }

    /// Returns a file in the format of `/etc/hosts` with the names of the replicas.
    #[must_use]
    pub fn hosts(&self) -> PathBuf {
        self.folder.path().join("hosts")
    }

    /// Starts a further replica, which speaks TLS and requires a client certificate.
    pub async fn start_tls(&self) -> TlsReplica {
        TlsReplica::start(&self.setup, &self.database.url(), &self.folder).await
    }

    /// Creates a user with a token of this kind. First repairs what an earlier case has stopped or
    /// frozen.
    ///
    /// # Panics
    ///
    /// Panics for a kind that the table does not describe.
    #[expect(clippy::too_many_lines, reason = "a table of kinds")]
    pub async fn user(&mut self, kind: &str) -> CaseUser {
        self.cases += 1;
        if !self.is_whole {
            self.start_all().await;
        }
        for (proxy, replica) in self.database_proxies.iter_mut().zip(&self.replicas) {
            proxy.open();
            replica.wait_for_readiness(200).await;
        }
        let (username, password) = (format!("case {}", self.cases), PASSWORD.to_owned());
        let mut client = self.client().await;
        let request = RegisterRequest {
            username: username.clone(),
            password: password.clone(),
        };
        let user = client
            .register(request)
            .await
            .expect("registered")
            .into_inner()
            .user;
        let login = LoginRequest {
            username: username.clone(),
            password: password.clone(),
            otp: None,
        };
        let login = client.login(login).await.expect("a login");
        let fresh_token = login.into_inner().access_token;
        let id = user.expect("a user").id;
        let mut claims = token::claims_of(id);
        let token = match kind.split_once(' ').unwrap_or((kind, "")) {
            ("fresh", _) => fresh_token.clone(),
            ("session", _) => {
                let user_agent = "client-stage".to_owned();
                let request = CreateSessionRequest {
                    username,
                    password,
                    name: None,
                    user_agent,
                    otp: None,
                    ..CreateSessionRequest::default()
                };
                client
                    .create_session(request)
                    .await
                    .expect("a session")
                    .into_inner()
                    .token
            }
            ("key", limit) => {
                let mut message = CreateApiKeyRequest {
                    name: kind.to_owned(),
                    ..CreateApiKeyRequest::default()
                };
                if let Some(group) = limit.strip_prefix("in ") {
                    message.groups = Some(GroupNames {
                        names: vec![group.to_owned()],
                    });
                } else if !limit.is_empty() {
                    message.role_name = Some(limit.to_owned());
                }
                let request = grpc::authenticated(message, &fresh_token);
                client
                    .create_api_key(request)
                    .await
                    .expect("a key")
                    .into_inner()
                    .key
            }
            ("expired", _) => {
                claims["exp"] = (token::now() - 1).into();
                token::signed(&token::plain_header(), &claims, SIGNING_SECRET)
            }
            ("foreign", _) => token::signed(&token::plain_header(), &claims, &"other ".repeat(8)),
            ("garbage", _) => "garbage".to_owned(),
            ("long", _) => "x".repeat(4097),
            ("unknown", "session") => format!("rgs_{}", "A".repeat(43)),
            ("malformed", "session") => format!("rgs_{}", "A".repeat(42)),
            _ => panic!("no kind of token: {kind}"),
        };
        CaseUser {
            id,
            fresh_token,
            token,
        }
    }

    /// Brings about a state of `user`, or a fault.
    ///
    /// # Panics
    ///
    /// Panics for a state or fault that the table does not describe.
    #[expect(
        clippy::too_many_lines,
        reason = "one arm for each thing that the cases ask for"
    )]
    pub async fn bring_about(&mut self, given: &str, user: &CaseUser) {
        match given.split_once(' ').unwrap_or((given, "")) {
            ("role", name) => {
                let role_name = name.to_owned();
                let message = SetUserRoleRequest {
                    user_id: user.id,
                    role_name,
                    role: 0,
                };
                let request = grpc::authenticated(message, &self.admin_token().await);
                self.client()
                    .await
                    .set_user_role(request)
                    .await
                    .expect("a changed role");
            }
            ("disabled" | "enabled", _) => {
                let disabled = given == "disabled";
                let message = SetUserDisabledRequest {
                    user_id: user.id,
                    disabled,
                };
                let request = grpc::authenticated(message, &self.admin_token().await);
                self.client()
                    .await
                    .set_user_disabled(request)
                    .await
                    .expect("changed");
            }
            ("joined", group) => self.join(user, group, None).await,
            ("ended", group) => {
                let end = two_seconds_from_now();
                self.join(user, group, Some(end)).await;
                eventually("the end of the membership", async || {
                    let names = self.stored_user(user).await.group_names;
                    (!names.iter().any(|name| name == group)).then_some(())
                })
                .await;
            }
            ("left", group) => {
                let message = DeleteMembershipRequest {
                    group_id: self.group_ids[group],
                    user_id: user.id,
                };
                let request = grpc::authenticated(message, &self.admin_token().await);
                self.client()
                    .await
                    .delete_membership(request)
                    .await
                    .expect("left");
            }
            ("account", "ended") => {
                let message = UpdateUserRequest {
                    user_id: user.id,
                    end: Some(End::Until(two_seconds_from_now())),
                    ..UpdateUserRequest::default()
                };
                let request = grpc::authenticated(message, &self.admin_token().await);
                self.client()
                    .await
                    .update_user(request)
                    .await
                    .expect("changed");
                eventually("the end of the account", async || {
                    self.stored_user(user).await.disabled.then_some(())
                })
                .await;
            }
            ("deleted", _) => {
                let message = DeleteUserRequest { user_id: user.id };
                let request = grpc::authenticated(message, &self.admin_token().await);
                self.client()
                    .await
                    .delete_user(request)
                    .await
                    .expect("deleted");
            }
            ("logged", "out") => {
                let message = RevokeTokensRequest::default();
                let request = grpc::authenticated(message, &user.token);
                self.client()
                    .await
                    .revoke_tokens(request)
                    .await
                    .expect("logged out");
            }
            ("sessions", "ended") => {
                let sessions = Some(Sessions::All(AllSessions {}));
                let message = DeleteSessionsRequest {
                    user_id: None,
                    sessions,
                };
                let request = grpc::authenticated(message, &user.fresh_token);
                self.client()
                    .await
                    .delete_sessions(request)
                    .await
                    .expect("ended");
            }
            ("password", changed) => {
                let message = ChangePasswordRequest {
                    current_password: PASSWORD.to_owned(),
                    new_password: "another password".to_owned(),
                };
                let by_it = changed == "changed by it";
                let token = if by_it {
                    &user.token
                } else {
                    &user.fresh_token
                };
                let request = grpc::authenticated(message, token);
                self.client()
                    .await
                    .change_password(request)
                    .await
                    .expect("changed");
            }
            ("no", "replica") => {
                self.is_whole = false;
                for replica in &mut self.replicas {
                    replica.kill().await;
                }
            }
            ("one", "replica") => {
                self.is_whole = false;
                self.replicas[1].kill().await;
            }
            ("all", "replicas") => self.start_all().await,
            ("no", "database") => self.database_proxies.iter().for_each(TcpProxy::cut),
            ("one", "database") => {
                self.database_proxies[1].cut();
                self.replicas[1].wait_for_readiness(503).await;
            }
            ("database", _) => self.database_proxies.iter_mut().for_each(TcpProxy::open),
            ("frozen", _) => {
                self.is_whole = false;
                self.replicas.iter().for_each(Process::freeze);
            }
            ("thawed", _) => {
                self.replicas.iter().for_each(Process::thaw);
                self.is_whole = true;
            }
            _ => panic!("nothing that can be given: {given}"),
        }
    }

    async fn create_groups(&mut self) {
        let admin = self.admin_token().await;
        for name in GROUPS {
            let message = CreateGroupRequest {
                name: name.to_owned(),
            };
            let request = grpc::authenticated(message, &admin);
            let created = self.client().await.create_group(request).await;
            let group = created.expect("a new group").into_inner().group;
            self.group_ids.insert(name, group.expect("a group").id);
        }
    }

    async fn join(&self, user: &CaseUser, group: &str, until: Option<Timestamp>) {
        let message = SetMembershipRequest {
            group_id: self.group_ids[group],
            user_id: user.id,
            until,
        };
        let request = grpc::authenticated(message, &self.admin_token().await);
        self.client()
            .await
            .set_membership(request)
            .await
            .expect("joined");
    }

    async fn stored_user(&self, user: &CaseUser) -> User {
        let message = GetUserRequest { user_id: user.id };
        let request = grpc::authenticated(message, &self.admin_token().await);
        let response = self.client().await.get_user(request).await;
        response.expect("a user").into_inner().user.expect("a user")
    }

    async fn start_all(&mut self) {
        for (index, replica) in self.replicas.iter_mut().enumerate() {
            let url = self
                .database
                .url_through(self.database_proxies[index].address());
            let address = ADDRESSES[index];
            replica.kill().await;
            *replica = start(&self.setup, &url, address, self.port, &self.folder).await;
        }
        self.is_whole = true;
    }

    async fn client(&self) -> AuthServiceClient<Channel> {
        grpc::client(&self.replicas[0].address("grpc")).await
    }

    async fn admin_token(&self) -> String {
        let (username, password) = ("admin".to_owned(), ADMIN_PASSWORD.to_owned());
        let login = self
            .client()
            .await
            .login(LoginRequest {
                username,
                password,
                otp: None,
            })
            .await;
        login.expect("a login").into_inner().access_token
    }
}

/// Returns an end that is in the future even if the clock of the database is a second ahead.
fn two_seconds_from_now() -> Timestamp {
    Timestamp {
        seconds: token::now().cast_signed() + 2,
        nanos: 0,
    }
}
