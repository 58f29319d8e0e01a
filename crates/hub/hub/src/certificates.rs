//! The certificate of a hub, which is read again when it is renewed.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio_rustls::TlsAcceptor;

use crate::config::Tls;
use crate::reload::Reloaded;

/// Returns an acceptor of connections with the certificate of these files.
///
/// # Errors
/// The file that cannot be used, and why.
pub(crate) fn acceptor(tls: &Tls) -> Result<TlsAcceptor, String> {
    let provider = Arc::new(default_provider());
    let files = vec![tls.certificate.clone(), tls.key.clone()];
    let (own, by) = (tls.clone(), Arc::clone(&provider));
    let renewed = Renewed(Reloaded::new(files, move || read(&own, &by).map(Arc::new))?);
    let config = ServerConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions();
    let config = config.map_err(|error| error.to_string())?;
    let mut config = config
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(renewed));
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

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
    let key = PrivateKeyDer::from_pem_file(&tls.key).map_err(|error| failed(&tls.key, &error))?;
    let pair = CertifiedKey::from_der(certificates, key, provider);
    pair.map_err(|error| failed(file, &error))
}

#[derive(Debug)]
struct Renewed(Reloaded<Arc<CertifiedKey>>);

impl ResolvesServerCert for Renewed {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.get()))
    }
}
