//! A way to a hub that can be cut, or that carries nothing for a while.

use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The state of a way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Way {
    /// Grows with each cut: connections that began before it end.
    cuts: u64,
    /// True while nothing is carried, although connections stay open.
    is_stalled: bool,
}

pub(crate) struct Relay {
    address: SocketAddr,
    way: watch::Sender<Way>,
}

impl Relay {
    /// Listens, and carries connections to this address.
    pub(crate) async fn start(to: String) -> Result<Self, String> {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let (way, watched) = watch::channel(Way::default());
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(carry(near, to.clone(), watched.clone()));
            }
        });
        Ok(Self { address, way })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Ends all connections.
    pub(crate) fn cut(&self) {
        self.way.send_modify(|way| way.cuts += 1);
    }

    /// Carries nothing from now on, or goes on.
    pub(crate) fn stall(&self, is_stalled: bool) {
        self.way.send_modify(|way| way.is_stalled = is_stalled);
    }
}

async fn carry(near: TcpStream, to: String, mut way: watch::Receiver<Way>) {
    let Ok(far) = TcpStream::connect(to).await else {
        return;
    };
    let (near_read, near_write) = near.into_split();
    let (far_read, far_write) = far.into_split();
    let cuts = way.borrow().cuts;
    tokio::select! {
        () = copy(near_read, far_write, way.clone()) => {}
        () = copy(far_read, near_write, way.clone()) => {}
        _ = async { way.wait_for(|way| way.cuts != cuts).await.is_ok() } => {}
    }
}

/// Carries bytes until one end is over.
async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut way: watch::Receiver<Way>,
) {
    let mut bytes = vec![0; 16 * 1024];
    loop {
        let Ok(count @ 1..) = from.read(&mut bytes).await else {
            return;
        };
        if way.wait_for(|way| !way.is_stalled).await.is_err() {
            return;
        }
        if to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}
