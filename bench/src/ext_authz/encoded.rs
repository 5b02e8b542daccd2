//! Makes calls with messages that were encoded before the measurement.
//!
//! The generator shares the CPUs with the service, so the measurement would include the time of encoding messages
//! during it.

use crate::Failure;
use http::uri::PathAndQuery;
use prost::bytes::{Buf as _, BufMut as _, Bytes};
use tonic::{
    Request, Status,
    client::Grpc,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
    transport::Channel,
};

/// Makes a unary call, and returns the encoded response.
pub(super) async fn call(
    channel: Channel,
    method: &'static str,
    message: Bytes,
) -> Result<Bytes, Failure> {
    let mut client = Grpc::new(channel);
    client.ready().await?;
    let method = PathAndQuery::from_static(method);
    Ok(client
        .unary(Request::new(message), method, Encoded)
        .await?
        .into_inner())
}

/// A codec whose messages are bytes that are already encoded.
struct Encoded;

impl Codec for Encoded {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Encoded {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put(message);
        Ok(())
    }
}

impl Decoder for Encoded {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining())))
    }
}
