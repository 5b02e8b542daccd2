//! A TCP proxy between two programs that can cut or stall their connections.

use futures_util::future::{FusedFuture as _, FutureExt as _};
use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    pin::pin,
    sync::{Arc, Mutex},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, copy},
    net::{TcpListener, TcpSocket, TcpStream},
    sync::watch,
};

/// Relays connections to a target, which tests may change.
#[derive(Debug)]
pub struct TcpProxy {
    address: SocketAddr,
    target: Arc<Mutex<SocketAddr>>,
    state: watch::Sender<State>,
    /// Counts how often the present connections were frozen.
    freezes: watch::Sender<u64>,
    /// A socket that is bound, which reserves the port, but does not listen. Connections are
    /// refused meanwhile.
    refusing: Option<TcpSocket>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// Present connections are closed, and new ones at once.
    Cut,
    /// Connections are accepted, but nothing is relayed.
    Silent,
    /// Only what clients send is relayed.
    AnswersHeld,
}

impl TcpProxy {
    /// Creates a proxy that refuses connections until [`TcpProxy::open`].
    #[must_use]
    pub fn refusing(target: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket
            .bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
            .expect("a free port");
        let address = socket.local_addr().expect("a bound socket");
        Self {
            address,
            target: Arc::new(Mutex::new(target)),
            state: watch::Sender::new(State::Open),
            freezes: watch::Sender::new(0),
            refusing: Some(socket),
        }
    }

    /// Creates a proxy that relays from the start.
    #[must_use]
    pub fn to(target: SocketAddr) -> Self {
        let mut proxy = Self::refusing(target);
        proxy.open();
        proxy
    }

    /// Returns the address of the proxy.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Relays new connections to another target.
    pub fn retarget(&self, target: SocketAddr) {
        *self.target.lock().expect("no thread panicked with it") = target;
    }

    /// Relays again, or for the first time.
    pub fn open(&mut self) {
        self.state.send_replace(State::Open);
        if let Some(socket) = self.refusing.take() {
            let listener = socket.listen(1024).expect("a bound socket can listen");
            let target = Arc::clone(&self.target);
            tokio::spawn(accept(
                listener,
                target,
                self.state.subscribe(),
                self.freezes.subscribe(),
            ));
        }
    }

    /// Closes all connections, and new ones at once.
    pub fn cut(&self) {
        self.state.send_replace(State::Cut);
    }

    /// Leaves connections open and relays nothing, like a network that drops packets.
    pub fn silence(&self) {
        self.state.send_replace(State::Silent);
    }

    /// Relays what clients send, but holds the answers back until [`TcpProxy::open`].
    pub fn hold_answers(&self) {
        self.state.send_replace(State::AnswersHeld);
    }

    /// Leaves the present connections open and never relays on them again. New ones are relayed, as
    /// after the replacement of a machine.
    pub fn freeze_connections(&self) {
        self.freezes.send_modify(|count| *count += 1);
    }
}

async fn accept(
    listener: TcpListener,
    target: Arc<Mutex<SocketAddr>>,
    mut state: watch::Receiver<State>,
    freezes: watch::Receiver<u64>,
) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            changed = state.changed() => if changed.is_ok() { continue } else { return },
        };
        let Ok((stream, _)) = accepted else { continue };
        let target = *target.lock().expect("no thread panicked with it");
        if *state.borrow() != State::Cut {
            let mut frozen = freezes.clone();
            frozen.mark_unchanged();
            tokio::spawn(relay(stream, target, state.clone(), frozen));
        }
    }
}

async fn relay(
    mut near: TcpStream,
    target: SocketAddr,
    mut state: watch::Receiver<State>,
    mut frozen: watch::Receiver<u64>,
) {
    let Ok(mut far) = TcpStream::connect(target).await else {
        return;
    };
    let _ = (near.set_nodelay(true), far.set_nodelay(true));
    let ((near_in, near_out), (far_in, far_out)) = (near.split(), far.split());
    let mut requests = pin!(relay_one_way(near_in, far_out).fuse());
    let mut answers = pin!(relay_one_way(far_in, near_out).fuse());
    while !(requests.is_terminated() && answers.is_terminated()) {
        let now = *state.borrow_and_update();
        if now == State::Cut {
            return;
        }
        tokio::select! {
            ended = &mut requests, if now != State::Silent => if ended.is_err() { return },
            ended = &mut answers, if now == State::Open => if ended.is_err() { return },
            changed = state.changed() => if changed.is_err() { return },
            Ok(()) = frozen.changed() => return held_open(state).await,
        }
    }
}

/// Relays one direction until its end, and passes the end on. After an error nothing can be passed
/// on.
async fn relay_one_way(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    copy(&mut from, &mut to).await?;
    to.shutdown().await
}

/// Waits until the proxy is dropped. The caller still owns both streams, so they stay open.
async fn held_open(mut state: watch::Receiver<State>) {
    while state.changed().await.is_ok() {}
}
