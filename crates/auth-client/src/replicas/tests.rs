use super::{
    Lease, ONE_MORE_LOOK, Replicas,
    keeping::{LONGEST_LOOK, RESOLVE_EVERY},
    known::{Known, Set},
};
use crate::{
    connection::{Connection, Stream},
    place::Place,
    replica::{Dial, FIRST_WORD, State},
};
use http::Uri;
use rolegate_proto::{
    SERVICE_NAME,
    auth_v1::{LoginRequest, auth_service_client::AuthServiceClient},
};
use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{DuplexStream, copy_bidirectional, duplex},
    sync::{Semaphore, oneshot},
    task::{AbortHandle, yield_now},
    time::{sleep, timeout},
};
use tonic::{Code, transport::Server};
use tonic_health::ServingStatus;

type Client = AuthServiceClient<Connection>;

/// The near end of a replica that says that it serves.
fn replica() -> DuplexStream {
    let (near, far) = duplex(64 * 1024);
    let (health, service) = tonic_health::server::health_reporter();
    tokio::spawn(async move {
        health.set_service_status(SERVICE_NAME, ServingStatus::Serving).await;
        let connection = tokio_stream::once(io::Result::Ok(far));
        Server::builder().add_service(service).serve_with_incoming(connection).await
    });
    near
}

/// The same, at the end of a cable that can be cut.
fn cabled_replica() -> (DuplexStream, AbortHandle) {
    let (near, mut middle) = duplex(64 * 1024);
    let mut replica = replica();
    let cable = tokio::spawn(async move { copy_bidirectional(&mut middle, &mut replica).await });
    (near, cable.abort_handle())
}

/// Whether somebody answers a call, if only that he does not know it.
async fn is_answered(mut lease: Lease<Client>) -> bool {
    let answer = lease.client.login(LoginRequest::default()).await;
    answer.expect_err("a replica here knows no calls").code() == Code::Unimplemented
}

async fn serving() -> State<Client> {
    let connection = Connection::open(Box::new(replica())).await.expect("it answers");
    State::Answers { client: AuthServiceClient::new(connection), serves: true }
}

fn address(last: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, last], 1))
}

/// Replicas of whom the test says what is known.
async fn told() -> (Replicas, Set<Client>) {
    let (hand_over, set) = oneshot::channel();
    let replicas = Replicas::kept(async move |set| {
        let _ = hand_over.send(set);
        std::future::pending::<()>().await;
    });
    (replicas, set.await.expect("handed over"))
}

/// Which of the known replicas a call went to.
fn whose(lease: &Lease<Client>, set: &Set<Client>) -> SocketAddr {
    let is_it = |known: &Known<Client>| {
        known.as_ref().is_some_and(|(_, calls)| Arc::ptr_eq(calls, &lease.call))
    };
    *set.states.iter().find(|(_, known)| is_it(known)).expect("a known one").0
}

/// Lets every task run until it waits for something; with the clock of the test nothing else moves.
async fn settle() {
    for _ in 0..200 {
        yield_now().await;
    }
}

#[tokio::test]
async fn calls_one_after_the_other_use_every_replica() {
    let (replicas, mut set) = told().await;
    set.learn(address(1), serving().await);
    set.learn(address(2), serving().await);
    let mut went = Vec::new();
    for _ in 0..10 {
        went.push(whose(&replicas.lease().await.expect("both serve"), &set));
    }
    for last in [1, 2] {
        let share = went.iter().filter(|&&whose| whose == address(last)).count();
        assert_eq!(share, 5, "{went:?}");
    }
}

#[tokio::test]
async fn calls_under_way_count_whatever_the_replica_says_meanwhile() {
    let (replicas, mut set) = told().await;
    set.learn(address(1), serving().await);
    let mut under_way = Vec::new();
    for _ in 0..4 {
        under_way.push(replicas.lease().await.expect("it serves"));
    }
    set.learn(address(2), serving().await);
    set.learn(address(1), serving().await);
    for _ in 0..4 {
        let lease = replicas.lease().await.expect("both serve");
        assert_eq!(whose(&lease, &set), address(2), "the other one has four already");
        under_way.push(lease);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_a_new_replica_instead_of_going_to_one_that_left_the_name() {
    let (replicas, mut set) = told().await;
    set.learn(address(1), serving().await);
    set.states.remove(&address(1));
    set.states.insert(address(2), None);
    set.publish();
    let caller = tokio::spawn({
        let replicas = replicas.clone();
        async move { replicas.lease().await }
    });
    settle().await;
    assert!(!caller.is_finished(), "the new one has not been heard of");
    set.learn(address(2), serving().await);
    let lease = caller.await.expect("no panic").expect("it serves");
    assert_eq!(whose(&lease, &set), address(2));
}

#[tokio::test(start_paused = true)]
async fn no_call_waits_for_longer_than_a_replica_may_take_to_its_first_word() {
    let (replicas, mut set) = told().await;
    set.states.insert(address(1), None);
    set.publish();
    let answer = timeout(FIRST_WORD + 2 * ONE_MORE_LOOK, replicas.lease()).await.expect("in time");
    assert_eq!(answer.expect_err("nobody speaks").code(), Code::Unavailable);
}

/// One replica that answers, and one whose address swallows everything.
struct HalfDead(Arc<Mutex<Option<DuplexStream>>>);

impl Place for HalfDead {
    async fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        Ok(vec![address(1), address(2)])
    }

    fn dial(&self, whom: SocketAddr) -> Dial {
        let near = Arc::clone(&self.0);
        Arc::new(move || {
            let near =
                (whom == address(1)).then(|| near.lock().expect("no panic").take()).flatten();
            Box::pin(async move {
                match near {
                    Some(near) => Ok(Box::new(near) as Box<dyn Stream>),
                    None => std::future::pending().await,
                }
            })
        })
    }

    fn origin(&self) -> Uri {
        Uri::from_static("http://auth-service")
    }
}

#[tokio::test]
async fn a_replica_that_swallows_everything_delays_no_call() {
    let replicas: Replicas = Replicas::of(HalfDead(Arc::new(Mutex::new(Some(replica())))));
    for _ in 0..10 {
        // A dial is given up after two seconds; nobody waits for that.
        let lease = timeout(Duration::from_secs(1), replicas.lease()).await.expect("at once");
        assert!(lease.is_ok(), "one serves");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_while_the_only_replica_is_connected_again() {
    let (near, cable) = cabled_replica();
    let (first, may_come_back) = (Mutex::new(Some(near)), Arc::new(Semaphore::new(0)));
    let replicas: Replicas = Replicas::with_connector({
        let may_come_back = Arc::clone(&may_come_back);
        move || {
            let first = first.lock().expect("no panic").take();
            let may_come_back = Arc::clone(&may_come_back);
            async move {
                if let Some(near) = first {
                    return Ok(Box::new(near) as Box<dyn Stream>);
                }
                may_come_back.acquire().await.expect("open").forget();
                Ok(Box::new(replica()) as _)
            }
        }
    });
    assert!(is_answered(replicas.lease().await.expect("it serves")).await);
    sleep(Duration::from_secs(2)).await;
    cable.abort();
    settle().await;
    let caller = tokio::spawn(async move { replicas.lease().await });
    settle().await;
    assert!(!caller.is_finished(), "nobody is there");
    may_come_back.add_permits(1);
    assert!(is_answered(caller.await.expect("no panic").expect("it is back")).await);
}

/// Replicas on cables, and a resolver that hangs at its second look.
#[derive(Clone, Default)]
struct Forgetful {
    looks: Arc<AtomicUsize>,
    cables: Arc<Mutex<Vec<(SocketAddr, AbortHandle)>>>,
}

impl Forgetful {
    fn dialled(&self, whom: SocketAddr) -> usize {
        self.cables.lock().expect("no panic").iter().filter(|(address, _)| *address == whom).count()
    }
}

impl Place for Forgetful {
    async fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        match self.looks.fetch_add(1, Ordering::SeqCst) {
            0 => Ok(vec![address(1)]),
            1 => std::future::pending().await,
            _ => Ok(vec![address(1), address(2)]),
        }
    }

    fn dial(&self, whom: SocketAddr) -> Dial {
        let cables = Arc::clone(&self.cables);
        Arc::new(move || {
            let (near, cable) = cabled_replica();
            cables.lock().expect("no panic").push((whom, cable));
            Box::pin(async move { Ok(Box::new(near) as Box<dyn Stream>) })
        })
    }

    fn origin(&self) -> Uri {
        Uri::from_static("http://auth-service")
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_resolver_hides_nothing_that_replicas_say() {
    let place = Forgetful::default();
    let replicas: Replicas = Replicas::of(place.clone());
    assert!(is_answered(replicas.lease().await.expect("it serves")).await);
    sleep(RESOLVE_EVERY + Duration::from_secs(1)).await;
    assert_eq!(place.looks.load(Ordering::SeqCst), 2, "the second look is under way");
    place.cables.lock().expect("no panic").pop().expect("one").1.abort();
    settle().await;
    assert!(is_answered(replicas.lease().await.expect("it is back")).await);
}

#[tokio::test(start_paused = true)]
async fn a_look_that_hangs_is_given_up_and_the_next_one_finds_what_is_new() {
    let place = Forgetful::default();
    let replicas: Replicas = Replicas::of(place.clone());
    assert!(replicas.lease().await.is_ok(), "the first serves");
    sleep(LONGEST_LOOK + 3 * RESOLVE_EVERY).await;
    assert_eq!((place.dialled(address(1)), place.dialled(address(2))), (1, 1));
}

/// Its one replica has the first dial panic.
struct Panicking(AtomicUsize);

impl Place for Panicking {
    async fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        Ok(vec![address(1)])
    }

    fn dial(&self, _: SocketAddr) -> Dial {
        let is_first = self.0.fetch_add(1, Ordering::SeqCst) == 0;
        Arc::new(move || {
            assert!(!is_first, "asked to");
            Box::pin(async { Ok(Box::new(replica()) as Box<dyn Stream>) })
        })
    }

    fn origin(&self) -> Uri {
        Uri::from_static("http://auth-service")
    }
}

#[tokio::test(start_paused = true)]
async fn a_replica_whose_keeper_panicked_is_found_again_by_the_next_look() {
    let replicas: Replicas = Replicas::of(Panicking(AtomicUsize::new(0)));
    sleep(RESOLVE_EVERY + Duration::from_secs(1)).await;
    let lease = timeout(FIRST_WORD, replicas.lease()).await.expect("at once");
    assert!(is_answered(lease.expect("another keeper")).await);
}
