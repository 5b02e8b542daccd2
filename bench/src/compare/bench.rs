//! Starts the systems under test, and measures a round of each.

use super::round::Round;
use crate::{
    Failure, authorizations,
    cluster::{self, Cluster},
    http_client::Connection,
    pgbench,
    program::Program,
    statistics::{micros, rate},
    target::{self, Target},
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

/// A system and a kind of requests, which are measured alternately with others.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Contender {
    /// wrk sends `GET /profile` to the target with this index.
    Profile(usize),
    /// wrk sends `GET /profile` to the target with this index, whose database has a synchronous standby.
    Reads(usize),
    /// wrk sends `GET /protected` to the split deployment, with cached credentials.
    Basic,
    /// Callers in this process use `authorize` of auth-client.
    Authorizations,
    /// pgbench reads the database itself, with `pgbench -S -M prepared`.
    Pgbench,
}

/// All systems under test, which end when this is dropped.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) targets: Vec<Target>,
    pub(crate) users: Vec<LoadUser>,
    // The field comes after the programs that use the cluster, so that it is dropped after them.
    pub(crate) cluster: Cluster,
    /// The services with `DATABASE_READS=primary` and with `quorum`.
    by_reads: [Target; 2],
    /// The database of these services, and its standby.
    synchronous: (Cluster, Cluster),
    profile: Wrk,
    protected: Wrk,
    client: AuthClient,
}

/// The number of users of the Basic variant. It is low because the first request of each costs a bcrypt.
const BASIC_USERS: usize = 64;

impl Bench {
    /// Starts all systems. Their files go to `folder`.
    pub(crate) async fn prepare(folder: &Path) -> Result<Self, Failure> {
        let users = users::with_tokens()?;
        let cluster = cluster::start()?;
        let targets = target::all(&cluster, folder).await?;
        pgbench::prepare(&cluster).await?;
        let profile = Wrk::new("/profile", users.iter().map(LoadUser::bearer), folder)?;
        let basic = users.iter().take(BASIC_USERS).map(LoadUser::basic);
        let protected = Wrk::new("/protected", basic, folder)?;
        let synchronous = cluster::start_synchronous()?;
        let by_reads = target::by_reads(&synchronous.0, folder).await?;
        let grpc = auth_service(&targets)?.address("grpc")?;
        let client = AuthClient::connect_lazy(&format!("http://{grpc}"))?;
        Ok(Self {
            targets,
            users,
            cluster,
            by_reads,
            synchronous,
            profile,
            protected,
            client,
        })
    }

    /// Returns gateway and auth-service as separate processes.
    pub(crate) fn split(&self) -> Result<&Target, Failure> {
        split(&self.targets)
    }

    /// Returns the name of a contender in the report.
    pub(crate) fn name(&self, contender: Contender) -> &'static str {
        match contender {
            Contender::Profile(index) => self.targets.get(index).map_or("", |target| target.name),
            Contender::Reads(index) => self.by_reads.get(index).map_or("", |target| target.name),
            Contender::Basic => "Basic, GET /protected",
            Contender::Authorizations => "authorize, by auth-client",
            Contender::Pgbench => "pgbench -S -M prepared",
        }
    }

    /// Measures one round of a contender.
    pub(crate) async fn round(
        &self,
        contender: Contender,
        connections: usize,
        seconds: u64,
    ) -> Result<Round, Failure> {
        match contender {
            Contender::Profile(index) => {
                let target = self.targets.get(index).ok_or("no such target")?;
                self.web(&self.profile, target, target.bearer, connections, seconds)
                    .await
            }
            Contender::Reads(index) => {
                let target = self.by_reads.get(index).ok_or("no such target")?;
                self.web(&self.profile, target, target.bearer, connections, seconds)
                    .await
            }
            Contender::Basic => {
                let split = self.split()?;
                let address = self.basic_address()?;
                self.web(&self.protected, split, address, connections, seconds)
                    .await
            }
            Contender::Authorizations => self.authorizations(connections, seconds).await,
            Contender::Pgbench => {
                let per_second =
                    pgbench::transactions_per_second(&self.cluster, connections, seconds).await?;
                Ok(Round {
                    per_second,
                    latency: None,
                    cpu: Vec::new(),
                })
            }
        }
    }

    async fn web(
        &self,
        wrk: &Wrk,
        target: &Target,
        address: SocketAddr,
        connections: usize,
        seconds: u64,
    ) -> Result<Round, Failure> {
        let before = self.cpu(target);
        let seen = wrk.load(address, connections, seconds).await?;
        let mut cpu = self.cpu_since(target, &before);
        cpu.push(("wrk", seen.own_cpu));
        let per_second = rate(seen.requests, seen.time);
        let latency = Some((seen.median, seen.p99));
        Ok(Round {
            per_second,
            latency,
            cpu: per_request(cpu, per_second * seen.time.as_secs_f64()),
        })
    }

    async fn authorizations(&self, callers: usize, seconds: u64) -> Result<Round, Failure> {
        let split = self.split()?;
        let (before, own_before, start) = (self.cpu(split), usage::own_cpu(), Instant::now());
        let time = Duration::from_secs(seconds);
        let per_second =
            authorizations::per_second(&self.client, &self.users, callers, time).await?;
        let requests = per_second * start.elapsed().as_secs_f64();
        let mut cpu = self.cpu_since(split, &before);
        cpu.retain(|(name, _)| *name != "gateway");
        cpu.push(("caller", usage::own_cpu().saturating_sub(own_before)));
        Ok(Round {
            per_second,
            latency: None,
            cpu: per_request(cpu, requests),
        })
    }

    fn cpu(&self, target: &Target) -> Vec<(&'static str, Duration)> {
        if self.by_reads.iter().any(|one| one.name == target.name) {
            target.cpu(&[self.synchronous.0.pid, self.synchronous.1.pid])
        } else {
            target.cpu(&[self.cluster.pid])
        }
    }

    fn cpu_since(
        &self,
        target: &Target,
        before: &[(&'static str, Duration)],
    ) -> Vec<(&'static str, Duration)> {
        let now = self.cpu(target).into_iter().zip(before);
        now.map(|((name, now), (_, before))| (name, now.saturating_sub(*before)))
            .collect()
    }

    fn basic_address(&self) -> Result<SocketAddr, Failure> {
        self.split()?
            .programs
            .first()
            .ok_or("the split has a gateway")?
            .address("basic")
    }

    /// Sends the credentials once, so that they are cached. Returns whether caching is enabled.
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

/// Returns auth-service of the split deployment.
pub(crate) fn auth_service(targets: &[Target]) -> Result<&Program, Failure> {
    let programs = &split(targets)?.programs;
    Ok(programs
        .iter()
        .find(|program| program.name == "auth-service")
        .ok_or("not started")?)
}

fn split(targets: &[Target]) -> Result<&Target, Failure> {
    Ok(targets
        .iter()
        .find(|target| target.name == target::SPLIT)
        .ok_or("not started")?)
}

fn per_request(cpu: Vec<(&'static str, Duration)>, requests: f64) -> Vec<(&'static str, f64)> {
    cpu.into_iter()
        .map(|(name, time)| (name, micros(time) / requests))
        .collect()
}
