//! A connection pooler like `PgBouncer` in transaction mode.

use std::{io, net::SocketAddr, sync::Arc};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::Mutex,
};

const SSL_REQUEST: [u8; 4] = 80_877_103_u32.to_be_bytes();

/// A pooler with one connection to the server, which serves the transactions of all clients. It
/// stops when it is dropped.
#[derive(Debug)]
pub struct TransactionPooler {
    address: SocketAddr,
    serving: tokio::task::JoinHandle<()>,
}

/// The ways in which the pooler treats state that belongs to sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sessions {
    /// Prepared statements stay on the server, where other clients encounter them.
    Mixed,
    /// Prepared statements are dropped before the next client.
    Discarded,
    /// Clients that set parameters at their start are refused, as by default.
    Refused,
}

/// The connection, and the messages with which the server answered when it was opened.
struct Server {
    stream: TcpStream,
    greeting: Vec<u8>,
}

impl TransactionPooler {
    /// Serves the database of this server, which must ask for no password.
    pub async fn start(server: SocketAddr, sessions: Sessions) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let shared = Arc::new(Mutex::new(None));
        let serving = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(serve(client, server, Arc::clone(&shared), sessions));
            }
        });
        Self { address, serving }
    }

    /// Returns the address of the pooler.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for TransactionPooler {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(
    mut client: TcpStream,
    address: SocketAddr,
    shared: Arc<Mutex<Option<Server>>>,
    sessions: Sessions,
) -> io::Result<()> {
    let mut startup = untyped(&mut client).await?;
    if startup[4..8] == SSL_REQUEST {
        client.write_all(b"N").await?;
        startup = untyped(&mut client).await?;
    }
    if sessions == Sessions::Refused {
        let error = b"SFATAL\0C08P01\0Munsupported startup parameter: options\0\0";
        let len = u32::try_from(error.len() + 4).expect("short");
        client
            .write_all(&[b"E".as_slice(), &len.to_be_bytes(), error].concat())
            .await?;
        return client.shutdown().await;
    }
    {
        let mut server = shared.lock().await;
        if server.is_none() {
            let mut stream = TcpStream::connect(address).await?;
            stream.write_all(&startup).await?;
            let mut greeting = Vec::new();
            relay(&mut stream, &mut greeting).await?;
            *server = Some(Server { stream, greeting });
        }
        client
            .write_all(&server.as_ref().expect("connected").greeting)
            .await?;
    }
    loop {
        let mut message = typed(&mut client).await?;
        let mut guard = shared.lock().await;
        let Some(Server { stream, .. }) = &mut *guard else {
            return Ok(());
        };
        if sessions == Sessions::Discarded {
            stream.write_all(b"Q\0\0\0\x13DEALLOCATE ALL\0").await?;
            relay(stream, &mut Vec::new()).await?;
        }
        // Until the end of the transaction, the server belongs to this client.
        loop {
            if message[0] == b'X' {
                return Ok(());
            }
            stream.write_all(&message).await?;
            if [b'Q', b'S'].contains(&message[0]) {
                let mut answer = Vec::new();
                let is_idle = relay(stream, &mut answer).await?;
                client.write_all(&answer).await?;
                if is_idle {
                    break;
                }
            }
            message = typed(&mut client).await?;
        }
    }
}

/// Relays the server's messages until it is ready. Returns whether it is outside of a transaction.
async fn relay(server: &mut TcpStream, answer: &mut Vec<u8>) -> io::Result<bool> {
    loop {
        let message = typed(server).await?;
        answer.extend(&message);
        if message[0] == b'Z' {
            return Ok(message[5] == b'I');
        }
    }
}

async fn typed(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let kind = stream.read_u8().await?;
    let mut message = vec![kind];
    message.extend(untyped(stream).await?);
    Ok(message)
}

async fn untyped(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let len = stream.read_u32().await?;
    let mut message = len.to_be_bytes().to_vec();
    message.resize(usize::try_from(len).expect("64 bits"), 0);
    stream.read_exact(&mut message[4..]).await?;
    Ok(message)
}
