//! Says which message requests which method of a contract.
//!
//! Every method has a request message of its own. So a server that registers a handler for a message cannot register
//! it under another method, or answer with the message of another one, and a client only passes the message.

/// Encodes and decodes the messages.
pub use tonic_prost::ProstCodec;

use prost::Message;

/// A message that requests a method with one response.
pub trait UnaryRequest: Message + Default + 'static {
    /// The path of the method in HTTP/2, such as `/rolegate.auth.v1.AuthService/Login`.
    const PATH: &'static str;

    /// The message of the response.
    type Response: Message + Default + 'static;
}

/// A message that requests a method with a stream of responses.
pub trait StreamRequest: Message + Default + 'static {
    /// The path of the method in HTTP/2, such as `/rolegate.auth.v1.AuthService/WatchUsers`.
    const PATH: &'static str;

    /// The messages of the stream.
    type Response: Message + Default + 'static;
}
