//! What a hub needs to call other hubs: an HTTP client and TLS settings.

use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;

use crate::config::Replica;

/// How long another hub may take to accept a connection.
pub(crate) const CONNECT: Duration = Duration::from_secs(3);

/// What a hub needs to call other hubs.
pub(crate) struct Forward {
    pub(crate) client: reqwest::Client,
    pub(crate) tls: Arc<ClientConfig>,
}

impl Forward {
    pub(crate) fn new(replica: &Replica) -> Result<Self, String> {
        let tls = accp_client::tls_settings(replica.authority.as_deref())?;
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(ClientConfig::clone(&tls))
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT)
            .build();
        let client = client.map_err(|error| error.to_string())?;
        Ok(Self { client, tls })
    }
}
