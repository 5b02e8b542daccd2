//! Everything that is measured, started and ready.

use super::turn::Turn;
use crate::{
    Failure, authorizations,
    cluster::{self, Cluster},
    http_client::Connection,
    pgbench,
    program::Program,
    statistics::{micros, rate},
    subject::{self, Subject},
    usage,
    users::{self, LoadUser},
    wrk::Wrk,
};
use rolegate_auth_client::AuthClient;
use std::{
    net::SocketAddr,
    path::Path,
    time::{Duration, Instant},
};

/// Who takes turns.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Contender {
    /// `GET /profile` of the subject with this index.
    Profile(usize),
    /// `GET /protected` of the split, with credentials that were good before.
    Basic,
    /// `authorize` of auth-client.
    Authorizations,
    /// `pgbench -S -M prepared`.
    Pgbench,
}

/// The stage. Ends with everything on it.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) subjects: Vec<Subject>,
    pub(crate) users: Vec<LoadUser>,
    // After the programs that use it, so that it is dropped after them.
    pub(crate) cluster: Cluster,
    profile: Wrk,
    protected: Wrk,
    client: AuthClient,
}

/// Users of the Basic variant: the first request of each costs a bcrypt.
const BASIC_USERS: usize = 64;

impl Bench {
    /// Starts everything; files go into `folder`.
    pub(crate) async fn prepare(folder: &Path) -> Result<Self, Failure> {
        let users = users::with_tokens()?;
        let cluster = cluster::start()?;
        let subjects = subject::all(&cluster, folder).await?;
        pgbench::prepare(&cluster).await?;
        let profile = Wrk::new("/profile", users.iter().map(LoadUser::bearer), folder)?;
        let basic = users.iter().take(BASIC_USERS).map(LoadUser::basic);
        let protected = Wrk::new("/protected", basic, folder)?;
        let grpc = auth_service(&subjects)?.address("grpc")?;
        let client = AuthClient::connect_lazy(&format!("http://{grpc}"))?;
        Ok(Self { subjects, users, cluster, profile, protected, client })
    }

    /// gateway and auth-service.
    pub(crate) fn split(&self) -> Result<&Subject, Failure> {
        split(&self.subjects)
    }

    /// What a contender is called in the report.
    pub(crate) fn name(&self, contender: Contender) -> &'static str {
        match contender {
            Contender::Profile(index) => {
                self.subjects.get(index).map_or("", |subject| subject.name)
            }
            Contender::Basic => "Basic, GET /protected",
            Contender::Authorizations => "authorize, by auth-client",
            Contender::Pgbench => "pgbench -S -M prepared",
        }
    }

    /// Loads one contender for a while.
    pub(crate) async fn turn(
        &self,
        contender: Contender,
        connections: usize,
        seconds: u64,
    ) -> Result<Turn, Failure> {
        match contender {
            Contender::Profile(index) => {
                let subject = self.subjects.get(index).ok_or("no such subject")?;
                self.web(&self.profile, subject, subject.bearer, connections, seconds).await
            }
            Contender::Basic => {
                let split = self.split()?;
                let address = self.basic_address()?;
                self.web(&self.protected, split, address, connections, seconds).await
            }
            Contender::Authorizations => self.authorizations(connections, seconds).await,
            Contender::Pgbench => {
                let per_second =
                    pgbench::transactions_per_second(&self.cluster, connections, seconds).await?;
                Ok(Turn { per_second, latency: None, cpu: Vec::new() })
            }
        }
    }

    async fn web(
        &self,
        wrk: &Wrk,
        subject: &Subject,
        address: SocketAddr,
        connections: usize,
        seconds: u64,
    ) -> Result<Turn, Failure> {
        let before = self.cpu(subject);
        let seen = wrk.load(address, connections, seconds).await?;
        let mut cpu = self.cpu_since(subject, &before);
        cpu.push(("wrk", seen.own_cpu));
        let per_second = rate(seen.requests, seen.time);
        let latency = Some((seen.median, seen.p99));
        Ok(Turn {
            per_second,
            latency,
            cpu: per_request(cpu, per_second * seen.time.as_secs_f64()),
        })
    }

    async fn authorizations(&self, callers: usize, seconds: u64) -> Result<Turn, Failure> {
        let split = self.split()?;
        let (before, own_before, start) = (self.cpu(split), usage::own_cpu(), Instant::now());
        let time = Duration::from_secs(seconds);
        let per_second =
            authorizations::per_second(&self.client, &self.users, callers, time).await?;
        let requests = per_second * start.elapsed().as_secs_f64();
        let mut cpu = self.cpu_since(split, &before);
        cpu.retain(|(name, _)| *name != "gateway");
        cpu.push(("the caller", usage::own_cpu().saturating_sub(own_before)));
        Ok(Turn { per_second, latency: None, cpu: per_request(cpu, requests) })
    }

    fn cpu(&self, subject: &Subject) -> Vec<(&'static str, Duration)> {
        let programs = subject.programs.iter();
        let mut cpu: Vec<_> = programs.map(|one| (one.name, usage::cpu(one.pid))).collect();
        if subject.asks_postgresql {
            cpu.push(("PostgreSQL", usage::cpu_of_family(self.cluster.pid)));
        }
        cpu
    }

    fn cpu_since(
        &self,
        subject: &Subject,
        before: &[(&'static str, Duration)],
    ) -> Vec<(&'static str, Duration)> {
        let now = self.cpu(subject).into_iter().zip(before);
        now.map(|((name, now), (_, before))| (name, now.saturating_sub(*before))).collect()
    }

    fn basic_address(&self) -> Result<SocketAddr, Failure> {
        self.split()?.programs.first().ok_or("the split has a gateway")?.address("basic")
    }

    /// Lets the split meet the credentials that will be repeated. Whether it remembers them.
    pub(crate) async fn warm_basic(&self) -> Result<bool, Failure> {
        const NO_BCRYPT: Duration = Duration::from_millis(50);
        let mut connection = Connection::open(self.basic_address()?).await?;
        for (index, user) in self.users.iter().take(BASIC_USERS).enumerate() {
            connection.get("/protected", Some(&user.basic())).await?;
            let start = Instant::now();
            let answer = connection.get("/protected", Some(&user.basic())).await?;
            if answer.status != http::StatusCode::OK {
                return Err(format!("/protected: {} {}", answer.status, answer.body).into());
            }
            if index == 0 && start.elapsed() > NO_BCRYPT {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Of the split.
pub(crate) fn auth_service(subjects: &[Subject]) -> Result<&Program, Failure> {
    let programs = &split(subjects)?.programs;
    Ok(programs.iter().find(|program| program.name == "auth-service").ok_or("it was started")?)
}

fn split(subjects: &[Subject]) -> Result<&Subject, Failure> {
    Ok(subjects.iter().find(|subject| subject.name == subject::SPLIT).ok_or("it was started")?)
}

fn per_request(cpu: Vec<(&'static str, Duration)>, requests: f64) -> Vec<(&'static str, f64)> {
    cpu.into_iter().map(|(name, time)| (name, micros(time) / requests)).collect()
}
