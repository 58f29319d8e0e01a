//! Measures how much memory a hub needs for each WebSocket that is open and idle.
//!
//! The program is the hub. It starts a second process of itself as the client, so that the memory of the client does
//! not count. It measures its own memory before and after the client opens the sockets.
//!
//! ```sh
//! cargo run --release --manifest-path benches/Cargo.toml --bin hub-idle -- 10000      # sockets
//! ```
//!
//! Each socket is an open file in both processes. The program raises its limit of open files to the limit of the
//! system (`ulimit -Hn`), and says if that limit is too low.

use std::error::Error;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::SystemTime;

use accp_hub::{Config, Open, Server, Sessions};
use accp_store::{Committer, MemoryStore, SqliteStore};
use futures_util::{SinkExt as _, StreamExt as _};
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

type AnyError = Box<dyn Error + Send + Sync>;
type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// The numbers of agents in a session that are measured.
const EACH: [usize; 2] = [1, 10];
/// Enough open files for all that is not a socket.
const OTHERS: u64 = 100;

fn main() -> Result<(), AnyError> {
    let mut args = std::env::args().skip(1);
    let first = args.next().unwrap_or_else(|| "10000".to_owned());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    if first == "client" {
        let mut next = || args.next().ok_or("client ADDRESS SOCKETS EACH");
        let (hub, sockets, each) = (next()?.parse()?, next()?.parse()?, next()?.parse()?);
        files(sockets)?;
        return runtime.block_on(client(hub, sockets, each));
    }
    let sockets: usize = first.parse()?;
    files(sockets)?;
    if let Some(each) = args.next() {
        return runtime.block_on(hub(
            sockets,
            each.parse()?,
            args.next().as_deref() == Some("SQLite"),
        ));
    }
    for store in ["none", "SQLite"] {
        for each in EACH {
            // Each case runs in its own process, because freed memory may stay with the process.
            let own = std::env::current_exe()?;
            let words = [sockets.to_string(), each.to_string(), store.to_owned()];
            let status = Command::new(own).args(words).status()?;
            if !status.success() {
                return Err(format!("the hub ended with {status}").into());
            }
        }
    }
    Ok(())
}

/// Raises the number of files that the process may have open.
fn files(sockets: usize) -> Result<(), AnyError> {
    let wanted = sockets as u64 + OTHERS;
    let mut limit = getrlimit(Resource::Nofile);
    if limit.maximum.is_some_and(|most| most < wanted) {
        return Err(
            format!("the system allows too few files: `ulimit -Hn {wanted}` as root").into(),
        );
    }
    if limit.current.is_some_and(|current| current < wanted) {
        limit.current = Some(wanted);
        setrlimit(Resource::Nofile, limit)?;
    }
    Ok(())
}

async fn hub(sockets: usize, each: usize, durable: bool) -> Result<(), AnyError> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("hub.accp");
    let config = Config {
        listen: "127.0.0.1:0".parse()?,
        ..Config::default()
    };
    let sessions = Sessions::new(&config, move || match durable {
        true => Committer::new(SqliteStore::open(&file)?),
        false => Ok(Committer::inline(MemoryStore::new())),
    })?;
    let server = Server::bind(config, sessions, Open).await?;
    let address = server.address();
    let (end, ended) = oneshot::channel::<()>();
    let serving = tokio::spawn(server.run(async move { drop(ended.await) }));
    let before = resident()?;
    let own = std::env::current_exe()?;
    let words = [
        "client".to_owned(),
        address.to_string(),
        sockets.to_string(),
        each.to_string(),
    ];
    let mut client = Command::new(own)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let said = client.stdout.take().ok_or("no stdout")?;
    let ready = tokio::task::spawn_blocking(move || {
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line).map(|_| line)
    });
    let line = ready.await??;
    if line.trim() != "ready" {
        return Err(format!("the client said {line:?}").into());
    }
    let after = resident()?;
    let bytes = (after.saturating_sub(before)) * 1024 / sockets as u64;
    println!(
        "{sockets} sockets, {each:2} in a session, store: {:6}  {:6.1} KiB each ({before} KiB before, {after} after)",
        if durable { "SQLite" } else { "none" },
        bytes as f64 / 1024.0
    );
    drop(client.stdin.take());
    client.wait()?;
    drop(end);
    serving.await?;
    Ok(())
}

/// Returns the resident memory of this process in KiB.
fn resident() -> Result<u64, AnyError> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    Ok(kib.ok_or("no VmRSS")?.parse()?)
}

/// Opens the sockets, prints `ready`, and keeps the sockets open until the hub has measured its memory.
async fn client(hub: SocketAddr, sockets: usize, each: usize) -> Result<(), AnyError> {
    let mut open = Vec::new();
    for at in 0..sockets {
        open.push(join(hub, at / each, at % each).await?);
    }
    println!("ready");
    std::io::stdout().flush()?;
    let waits = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    waits.await??;
    Ok(())
}

async fn join(hub: SocketAddr, session: usize, agent: usize) -> Result<Socket, AnyError> {
    let url = format!("ws://{hub}/accp/v1/ws?session=s{session}");
    let (mut socket, _) = tokio_tungstenite::connect_async_with_config(url, None, true).await?;
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    let mut held = 0;
    for made in 0..2 {
        let hello = format!(
            "@a{agent}>sync:registry{{v:1|hash:a32838|pos:{held}|ext:[]|next:1}}[mid:c{made:011},seq:{held},ts:{}]",
            since.as_secs()
        );
        socket.send(Message::text(hello)).await?;
        loop {
            match socket.next().await.ok_or("the socket is closed")?? {
                Message::Text(text) if text.contains(">sync:registry{") => {
                    held = position(&text).ok_or("no position")?;
                    break;
                }
                Message::Close(close) => return Err(format!("closed: {close:?}").into()),
                _ => {}
            }
        }
    }
    Ok(socket)
}

fn position(frame: &str) -> Option<u64> {
    let (_, rest) = frame.rsplit_once("pos:")?;
    rest.split(|c: char| !c.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}
