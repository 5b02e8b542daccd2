//! The generated client, and whether it has anywhere to go.

use crate::replicas::Replicas;
use auth_proto::auth_v1::auth_service_client::AuthServiceClient;
use tonic::{Status, transport::Channel};

/// The generated client over one channel. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Calls {
    client: AuthServiceClient<Channel>,
    /// `None` for a channel of the caller's making.
    replicas: Option<Replicas>,
}

impl Calls {
    pub(crate) fn new(channel: Channel, replicas: Option<Replicas>) -> Self {
        Self { client: AuthServiceClient::new(channel), replicas }
    }

    /// The client, if some replica accepts connections.
    pub(crate) async fn ready(&self) -> Result<AuthServiceClient<Channel>, Status> {
        match &self.replicas {
            Some(replicas) if !replicas.can_be_reached().await => {
                Err(Status::unavailable("no replica of auth-service accepts connections"))
            }
            _ => Ok(self.client.clone()),
        }
    }
}
