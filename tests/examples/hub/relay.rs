//! A relay in front of a hub. A test can cut its connections, or stop all bytes for a while.

use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The state of the connections of a relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct LinkState {
    /// The number of cuts so far. A cut ends all connections that began before it.
    cuts: u64,
    /// True while the relay carries no bytes, although its connections stay open.
    is_stalled: bool,
}

pub(crate) struct Relay {
    address: SocketAddr,
    link: watch::Sender<LinkState>,
}

impl Relay {
    /// Listens on a free port, and carries the bytes of each connection to the address `to`.
    pub(crate) async fn start(to: String) -> Result<Self, String> {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let (link, watched) = watch::channel(LinkState::default());
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(carry(near, to.clone(), watched.clone()));
            }
        });
        Ok(Self { address, link })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Ends all connections.
    pub(crate) fn cut(&self) {
        self.link.send_modify(|link| link.cuts += 1);
    }

    /// Stops all bytes, or lets them go on.
    pub(crate) fn stall(&self, is_stalled: bool) {
        self.link.send_modify(|link| link.is_stalled = is_stalled);
    }
}

async fn carry(near: TcpStream, to: String, mut link: watch::Receiver<LinkState>) {
    let Ok(far) = TcpStream::connect(to).await else {
        return;
    };
    let (near_read, near_write) = near.into_split();
    let (far_read, far_write) = far.into_split();
    let cuts = link.borrow().cuts;
    tokio::select! {
        () = copy(near_read, far_write, link.clone()) => {}
        () = copy(far_read, near_write, link.clone()) => {}
        _ = async { link.wait_for(|link| link.cuts != cuts).await.is_ok() } => {}
    }
}

/// Carries bytes in one direction until either end closes the connection.
async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut link: watch::Receiver<LinkState>,
) {
    let mut bytes = vec![0; 16 * 1024];
    loop {
        let Ok(count @ 1..) = from.read(&mut bytes).await else {
            return;
        };
        if link.wait_for(|link| !link.is_stalled).await.is_err() {
            return;
        }
        if to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}
