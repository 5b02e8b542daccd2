//! A proxy that moves open sessions of PostgreSQL to another server, as some poolers do.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream, tcp::OwnedReadHalf},
    sync::{mpsc, watch},
};

/// The types of messages that end a request of a client: Sync and Query.
const REQUEST_ENDS: [u8; 2] = [b'S', b'Q'];
/// The type of message that ends each answer of a server, and its greeting.
const READY_FOR_QUERY: u8 = b'Z';

/// Relays sessions without TLS and password to one server, and moves the open ones to another server on demand. New
/// sessions always begin on the first server.
pub(super) struct MovingProxy {
    address: SocketAddr,
    /// Set to true when open sessions have to move.
    moves: watch::Sender<bool>,
    done: Arc<AtomicUsize>,
}

impl MovingProxy {
    pub(super) async fn start(first: SocketAddr, second: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket");
        let (moves, done) = (watch::Sender::new(false), Arc::new(AtomicUsize::new(0)));
        let (receiver, count) = (moves.subscribe(), Arc::clone(&done));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let mut moves = receiver.clone();
                moves.mark_unchanged();
                tokio::spawn(relay(client, first, second, moves, Arc::clone(&count)));
            }
        });
        Self {
            address,
            moves,
            done,
        }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Moves each open session once it waits for its next request, and returns after the first move.
    pub(super) async fn move_sessions(&self) {
        self.moves.send_replace(true);
        e2e::eventually("a session to move", async || {
            (self.done.load(Ordering::SeqCst) > 0).then_some(())
        })
        .await;
    }
}

async fn relay(
    client: TcpStream,
    first: SocketAddr,
    second: SocketAddr,
    mut moves: watch::Receiver<bool>,
    done: Arc<AtomicUsize>,
) {
    let server = TcpStream::connect(first)
        .await
        .expect("the first server listens");
    let (client_reader, mut to_client) = client.into_split();
    let (server_reader, mut to_server) = server.into_split();
    let mut from_client = messages(client_reader, true);
    let mut from_server = messages(server_reader, false);
    let (mut sent, mut unanswered, mut answers) = (Vec::new(), 1_usize, 0_usize);
    loop {
        tokio::select! {
            message = from_client.recv() => {
                let Some(message) = message else { return };
                unanswered += usize::from(REQUEST_ENDS.contains(&message[0]));
                sent.extend_from_slice(&message);
                let _ = to_server.write_all(&message).await;
            }
            message = from_server.recv() => {
                let Some(message) = message else { return };
                if message[0] == READY_FOR_QUERY {
                    unanswered -= 1;
                    answers += 1;
                }
                if to_client.write_all(&message).await.is_err() {
                    return;
                }
            }
            Ok(()) = moves.changed(), if unanswered == 0 => {
                // The other server gets all messages of the session so far, and its answers are discarded.
                let server = TcpStream::connect(second).await.expect("the second server listens");
                let (server_reader, writer) = server.into_split();
                (from_server, to_server) = (messages(server_reader, false), writer);
                to_server.write_all(&sent).await.expect("the server reads");
                for _ in 0..answers {
                    while from_server.recv().await.expect("an answer")[0] != READY_FOR_QUERY {}
                }
                done.fetch_add(1, Ordering::SeqCst);
            }
        }
    }
}

/// Reads the messages of a peer. Each has a type, a length that includes itself, and the content. The first message of
/// a client has no type.
fn messages(mut peer: OwnedReadHalf, is_client: bool) -> mpsc::UnboundedReceiver<Vec<u8>> {
    let (sender, receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut has_type = !is_client;
        loop {
            let mut message = vec![0; if has_type { 5 } else { 4 }];
            if peer.read_exact(&mut message).await.is_err() {
                return;
            }
            let (_, length) = message.split_last_chunk::<4>().expect("four bytes");
            let length = u32::from_be_bytes(*length) as usize;
            let start = message.len();
            message.resize(start + length - 4, 0);
            if peer.read_exact(&mut message[start..]).await.is_err()
                || sender.send(message).is_err()
            {
                return;
            }
            has_type = true;
        }
    });
    receiver
}
