//! A persistent HTTP/1.1 connection, for requests whose responses are inspected.

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

/// A connection, which is closed when this is dropped.
#[derive(Debug)]
pub(crate) struct Connection {
    sender: SendRequest<String>,
    host: String,
}

/// A response with its JSON body.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: StatusCode,
    pub(crate) body: Value,
}

impl Connection {
    /// Opens a connection to this address.
    pub(crate) async fn open(address: SocketAddr) -> Result<Self, Failure> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Self {
            sender,
            host: address.to_string(),
        })
    }

    /// Sends a `GET`, optionally with an `Authorization` header.
    pub(crate) async fn get(
        &mut self,
        path: &str,
        authorization: Option<&str>,
    ) -> Result<Response, Failure> {
        let request = Request::get(path).header(HOST, &self.host);
        let request = match authorization {
            Some(value) => request.header(AUTHORIZATION, value),
            None => request,
        };
        self.send(request.body(String::new())?).await
    }

    /// Sends `POST /login` with `X-Forwarded-For: client_address`, as a proxy does.
    pub(crate) async fn log_in(
        &mut self,
        username: &str,
        password: &str,
        client_address: &str,
    ) -> Result<Response, Failure> {
        let body = serde_json::json!({ "username": username, "password": password });
        self.post("/login", &body, client_address).await
    }

    /// Sends a `POST` with a JSON body and `X-Forwarded-For: client_address`, as a proxy does.
    pub(crate) async fn post(
        &mut self,
        path: &str,
        body: &Value,
        client_address: &str,
    ) -> Result<Response, Failure> {
        let request = Request::post(path)
            .header(HOST, &self.host)
            .header(CONTENT_TYPE, "application/json")
            .header("x-forwarded-for", client_address);
        self.send(request.body(body.to_string())?).await
    }

    async fn send(&mut self, request: Request<String>) -> Result<Response, Failure> {
        self.sender.ready().await?;
        let (head, body) = self.sender.send_request(request).await?.into_parts();
        let body = serde_json::from_slice(&body.collect().await?.to_bytes())?;
        Ok(Response {
            status: head.status,
            body,
        })
    }
}
