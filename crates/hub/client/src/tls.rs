//! The settings of TLS.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

/// Returns settings of TLS for a client. It trusts the authorities whose certificates are in this PEM
/// file, or those that Mozilla trusts.
///
/// The provider of cryptography is named here, so that no program has to install one.
///
/// # Errors
/// If the file cannot be read or has no certificate.
pub fn tls_settings(authority: Option<&Path>) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    match authority {
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(file) => {
            let failed = |why: &dyn fmt::Display| format!("{}: {why}", file.display());
            let certificates = CertificateDer::pem_file_iter(file);
            for certificate in certificates.map_err(|error| failed(&error))? {
                let certificate = certificate.map_err(|error| failed(&error))?;
                roots.add(certificate).map_err(|error| failed(&error))?;
            }
            if roots.is_empty() {
                return Err(failed(&"no certificate in it"));
            }
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| error.to_string())?;
    let config = config.with_root_certificates(roots).with_no_client_auth();
    Ok(Arc::new(config))
}
