//! The certificate of a hub, which is read again when it is renewed.

use std::fmt;
use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::sync::watch::Receiver;
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;

use crate::app::over;
use crate::config::Tls;
use crate::reload::Reloaded;

/// How often the hub checks whether the files have changed.
const LOOKS: Duration = Duration::from_millis(250);

/// The certificate of a hub and its key, with which the hub speaks TLS.
pub(crate) struct Certificate {
    acceptor: TlsAcceptor,
    renewed: Arc<Renewed>,
}

impl Certificate {
    /// Reads the certificate and the key from their files.
    ///
    /// # Errors
    /// The file that cannot be used, and why.
    pub(crate) fn open(tls: &Tls) -> Result<Self, String> {
        let provider = Arc::new(default_provider());
        let files = vec![tls.certificate.clone(), tls.key.clone()];
        let (own, by) = (tls.clone(), Arc::clone(&provider));
        let renewed = Reloaded::new(files, move || read(&own, &by).map(Arc::new))?;
        let renewed = Arc::new(Renewed(renewed));
        let config = ServerConfig::builder_with_provider(provider);
        let config = config.with_safe_default_protocol_versions();
        let config = config.map_err(|error| error.to_string())?;
        let mut config = config
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&renewed) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Ok(Self { acceptor, renewed })
    }

    /// Returns an acceptor of connections, which shows the certificate as it is at each connection.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        self.acceptor.clone()
    }

    /// Reads the files again when they change, until the hub ends. So the first connection after a renewal also gets
    /// the new certificate, and the log tells at once of files that cannot be used.
    pub(crate) fn watch(
        &self,
        mut ends: Receiver<bool>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let renewed = Arc::clone(&self.renewed);
        async move {
            loop {
                tokio::select! {
                    () = sleep(LOOKS) => drop(renewed.0.get()),
                    () = over(&mut ends) => return,
                }
            }
        }
    }
}

const NO_KEY: &str = "there is no private key in it that opens without a password: `openssl pkey -in FILE` writes one";

/// Reads a certificate and its key. In the middle of a renewal the two do not belong together, which is an error.
fn read(tls: &Tls, provider: &CryptoProvider) -> Result<CertifiedKey, String> {
    let failed = |file: &Path, why: &dyn fmt::Display| format!("{}: {why}", file.display());
    let file = &tls.certificate;
    let certificates = CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| failed(file, &error))?;
    if certificates.is_empty() {
        return Err(failed(file, &"there is no certificate in it"));
    }
    let key = PrivateKeyDer::from_pem_file(&tls.key);
    let key = key.map_err(|error| match error {
        pem::Error::NoItemsFound => failed(&tls.key, &NO_KEY),
        error => failed(&tls.key, &error),
    })?;
    let pair = CertifiedKey::from_der(certificates, key, provider);
    pair.map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => {
            let key = tls.key.display();
            failed(
                file,
                &format!("the key in {key} is not that of the first certificate"),
            )
        }
        error => failed(file, &error),
    })
}

#[derive(Debug)]
struct Renewed(Reloaded<Arc<CertifiedKey>>);

impl ResolvesServerCert for Renewed {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.get()))
    }
}
