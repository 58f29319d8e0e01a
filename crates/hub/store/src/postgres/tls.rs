//! TLS for connections to the database, by rustls.

use std::error::Error;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore, crypto};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream as Rustls;

type Failure = Box<dyn Error + Send + Sync>;

/// Makes connections with TLS. The certificate of the server is always checked.
#[derive(Clone)]
pub(super) struct Tls(TlsConnector);

impl Tls {
    /// Trusts the certificates in a file, or else the authorities that browsers trust.
    pub(super) fn new(roots: Option<&Path>) -> Result<Self, Failure> {
        let mut trusted = RootCertStore::empty();
        match roots {
            Some(path) => {
                for certificate in CertificateDer::pem_file_iter(path)? {
                    trusted.add(certificate?)?;
                }
                if trusted.is_empty() {
                    return Err("the file has no certificate".into());
                }
            }
            None => trusted.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        }
        let provider = Arc::new(crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(trusted)
            .with_no_client_auth();
        Ok(Self(TlsConnector::from(Arc::new(config))))
    }
}

impl<S> MakeTlsConnect<S> for Tls
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Encrypted<S>;
    type TlsConnect = Handshake;
    type Error = Failure;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Handshake, Failure> {
        Ok(Handshake {
            connector: self.0.clone(),
            // A Unix socket has no host name, and its connection does not use TLS.
            server: ServerName::try_from(domain.to_owned()).ok(),
        })
    }
}

/// Makes one connection with TLS.
pub(super) struct Handshake {
    connector: TlsConnector,
    server: Option<ServerName<'static>>,
}

impl<S> TlsConnect<S> for Handshake
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Encrypted<S>;
    type Error = Failure;
    type Future = Pin<Box<dyn Future<Output = Result<Encrypted<S>, Failure>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let server = self.server.ok_or("the server's name is not valid in TLS")?;
            let stream = self.connector.connect(server, stream).await?;
            Ok(Encrypted(Box::new(stream)))
        })
    }
}

/// A connection with TLS.
pub(super) struct Encrypted<S>(Box<Rustls<S>>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Encrypted<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Encrypted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Encrypted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0).poll_write(context, buffer)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_shutdown(context)
    }
}
