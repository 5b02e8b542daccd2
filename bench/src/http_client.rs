//! One HTTP/1.1 connection that is kept alive, for everything that must look at answers.

use crate::Failure;
use http::{
    Request, StatusCode,
    header::{AUTHORIZATION, CONTENT_TYPE, HOST},
};
use http_body_util::BodyExt as _;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::net::SocketAddr;
use tokio::net::TcpStream;

/// A connection. Dropped, it is closed.
#[derive(Debug)]
pub(crate) struct Connection {
    sender: SendRequest<String>,
    host: String,
}

/// An answer, whole.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Value,
}

impl Connection {
    /// Connects.
    pub(crate) async fn open(address: SocketAddr) -> Result<Self, Failure> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Self { sender, host: address.to_string() })
    }

    /// `GET` with this `Authorization`, or without.
    pub(crate) async fn get(
        &mut self,
        path: &str,
        authorization: Option<&str>,
    ) -> Result<Answer, Failure> {
        let request = Request::get(path).header(HOST, &self.host);
        let request = match authorization {
            Some(value) => request.header(AUTHORIZATION, value),
            None => request,
        };
        self.send(request.body(String::new())?).await
    }

    /// `POST /login` for a client at this address, as a proxy would pass it on.
    pub(crate) async fn log_in(
        &mut self,
        username: &str,
        password: &str,
        client_address: &str,
    ) -> Result<Answer, Failure> {
        let body = serde_json::json!({ "username": username, "password": password }).to_string();
        let request = Request::post("/login")
            .header(HOST, &self.host)
            .header(CONTENT_TYPE, "application/json")
            .header("x-forwarded-for", client_address);
        self.send(request.body(body)?).await
    }

    async fn send(&mut self, request: Request<String>) -> Result<Answer, Failure> {
        self.sender.ready().await?;
        let (head, body) = self.sender.send_request(request).await?.into_parts();
        let body = serde_json::from_slice(&body.collect().await?.to_bytes())?;
        Ok(Answer { status: head.status, body })
    }
}
