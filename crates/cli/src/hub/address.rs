//! The address of a hub, and the authorities whose certificates a command trusts there.

use std::fs;
use std::io;
use std::path::PathBuf;

use accp_client::tls_settings;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

use accp_console::outcome::Failure;

/// What to do about a certificate that is not trusted.
const UNTRUSTED: &str = "the certificate of the hub is not trusted here: --authority names the file with the certificate \
                         of its authority, and --hub needs a name that stands in the certificate";
/// What to do where one side speaks TLS and the other does not.
const OTHER_SCHEME: &str =
    "a hub that speaks TLS has https:// in --hub, and another hub has http://";

/// The options for the address of a hub.
#[derive(Debug, clap::Args)]
pub(crate) struct HubAddress {
    /// The address of the hub
    #[arg(
        long,
        value_name = "URL",
        env = "ACCP_HUB",
        default_value = "http://127.0.0.1:7337"
    )]
    pub(crate) hub: String,
    /// Trust only the authorities whose certificates are in this PEM file [default: those that browsers trust]
    #[arg(long, value_name = "FILE", env = "ACCP_AUTHORITY")]
    pub(crate) authority: Option<PathBuf>,
}

impl HubAddress {
    /// Returns the address as a URL of HTTP, without a slash at its end.
    pub(crate) fn http(&self) -> String {
        let base = self.hub.trim_end_matches('/');
        // The same address serves WebSockets, so users may write it with `ws://` or `wss://`.
        match base.strip_prefix("ws") {
            Some(rest) if rest.starts_with("://") || rest.starts_with("s://") => {
                format!("http{rest}")
            }
            _ => base.to_owned(),
        }
    }

    /// Returns the settings of TLS for requests to the hub.
    pub(crate) fn tls(&self) -> Result<TlsConfig, Failure> {
        let Some(file) = &self.authority else {
            return Ok(TlsConfig::default());
        };
        let text = fs::read(file).map_err(Failure::at(file))?;
        // The client of HTTP leaves out what it cannot read. This names the file and what is wrong with it.
        tls_settings(Some(file)).map_err(Failure::Input)?;
        let certificates = parse_pem(&text).filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        });
        let roots = RootCerts::from(certificates);
        Ok(TlsConfig::builder().root_certs(roots).build())
    }
}

/// Returns what to do about a connection that failed because of TLS. `None` for every other error.
pub(crate) fn cure_of_tls(error: &ureq::Error) -> Option<&'static str> {
    match error {
        ureq::Error::Protocol(_) => Some(OTHER_SCHEME),
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::InvalidData => {
            let is_untrusted = error.to_string().starts_with("invalid peer certificate");
            Some(if is_untrusted {
                UNTRUSTED
            } else {
                OTHER_SCHEME
            })
        }
        _ => None,
    }
}
