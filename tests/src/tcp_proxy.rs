//! A way from one program to another that can be cut, or go silent, while both ends live.

use std::{
    net::{Ipv4Addr, SocketAddr},
    pin::pin,
    sync::{Arc, Mutex},
};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpSocket, TcpStream},
    sync::watch,
};

/// Relays connections to a target that may change.
#[derive(Debug)]
pub struct TcpProxy {
    address: SocketAddr,
    target: Arc<Mutex<SocketAddr>>,
    way: watch::Sender<Way>,
    /// How often the connections of the moment were lost.
    losses: watch::Sender<u64>,
    /// Bound, so that nobody else takes the port, but refusing connections until it listens.
    refusing: Option<TcpSocket>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Open,
    /// What is connected is cut; what connects is cut at once.
    Cut,
    /// Everything connects and nothing is relayed.
    Silent,
}

impl TcpProxy {
    /// A port that refuses connections until [`TcpProxy::open`].
    #[must_use]
    pub fn refusing(target: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).expect("a free port");
        let address = socket.local_addr().expect("a bound socket");
        Self {
            address,
            target: Arc::new(Mutex::new(target)),
            way: watch::Sender::new(Way::Open),
            losses: watch::Sender::new(0),
            refusing: Some(socket),
        }
    }

    /// A way that is open from the start.
    #[must_use]
    pub fn to(target: SocketAddr) -> Self {
        let mut proxy = Self::refusing(target);
        proxy.open();
        proxy
    }

    /// Where to connect.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Leads new connections to another target.
    pub fn retarget(&self, target: SocketAddr) {
        *self.target.lock().expect("no thread panicked with it") = target;
    }

    /// Relays, whatever was before.
    pub fn open(&mut self) {
        self.way.send_replace(Way::Open);
        if let Some(socket) = self.refusing.take() {
            let listener = socket.listen(1024).expect("a bound socket can listen");
            let target = Arc::clone(&self.target);
            tokio::spawn(accept(listener, target, self.way.subscribe(), self.losses.subscribe()));
        }
    }

    /// Ends every connection, and every new one at once.
    pub fn cut(&self) {
        self.way.send_replace(Way::Cut);
    }

    /// Leaves connections open and relays nothing, as a network does that drops packets.
    pub fn silence(&self) {
        self.way.send_replace(Way::Silent);
    }

    /// Leaves the connections of this moment open and never relays on them again; new ones are
    /// relayed. So it looks when a machine is replaced without a word.
    pub fn freeze_connections(&self) {
        self.losses.send_modify(|losses| *losses += 1);
    }
}

async fn accept(
    listener: TcpListener,
    target: Arc<Mutex<SocketAddr>>,
    mut way: watch::Receiver<Way>,
    losses: watch::Receiver<u64>,
) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            changed = way.changed() => if changed.is_ok() { continue } else { return },
        };
        let Ok((stream, _)) = accepted else { continue };
        let target = *target.lock().expect("no thread panicked with it");
        if *way.borrow() != Way::Cut {
            let mut lost = losses.clone();
            lost.mark_unchanged();
            tokio::spawn(relay(stream, target, way.clone(), lost));
        }
    }
}

async fn relay(
    mut near: TcpStream,
    target: SocketAddr,
    mut way: watch::Receiver<Way>,
    mut lost: watch::Receiver<u64>,
) {
    let Ok(mut far) = TcpStream::connect(target).await else { return };
    let _ = (near.set_nodelay(true), far.set_nodelay(true));
    let mut copying = pin!(copy_bidirectional(&mut near, &mut far));
    loop {
        let now = *way.borrow_and_update();
        let changed = match now {
            Way::Cut => return,
            Way::Silent => way.changed().await,
            Way::Open => tokio::select! {
                _ = &mut copying => return,
                changed = way.changed() => changed,
                Ok(()) = lost.changed() => return held_open(way).await,
            },
        };
        if changed.is_err() {
            return;
        }
    }
}

/// Until the proxy is dropped. Whoever asked for the relay still holds both streams.
async fn held_open(mut way: watch::Receiver<Way>) {
    while way.changed().await.is_ok() {}
}
