//! Measures a hub under load, and for comparison a plain axum handler that does similar work. Both run on loopback
//! and in the same run.
//!
//! In each session one client sends a message, and waits until another client of the session has the message and the
//! server has acknowledged it. The plain handler reads a JSON message, writes it to the other socket, and
//! acknowledges it. The durable plain handler first inserts the message into SQLite (WAL, FULL), in transactions of
//! up to 256 inserts, as the hub's committer does.
//!
//! ```sh
//! cargo run --release --manifest-path benches/Cargo.toml --bin hub-load -- 3     # seconds for each row
//! cargo run --release --manifest-path benches/Cargo.toml --bin hub-load -- 3 SQLite 100
//! ```
//!
//! `cpu us` is the processor time for a message, with that of the clients. Unlike the rate, it depends little on
//! other programs, and leaves out the time that messages wait between threads.

use std::collections::HashMap;
use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use accp_hub::{Config, Open, Server, Sessions};
use accp_store::{Committer, MemoryStore, SqliteStore};
use axum::Router;
use axum::extract::ws::{Message as Served, WebSocket, WebSocketUpgrade};
use axum::extract::{Query, State};
use axum::routing::get;
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

type AnyError = Box<dyn Error + Send + Sync>;
type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// The numbers of sessions that are measured.
const SESSIONS: [usize; 3] = [1, 100, 1000];
/// The text in each message.
const BODY: &str =
    "The_auth_service_returns_401_for_tokens_older_than_an_hour;_see_src/auth.rs_line_88";

fn main() -> Result<(), AnyError> {
    let seconds = std::env::args().nth(1).map_or(Ok(3), |text| text.parse())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        println!(
            "{:8} {:>8}  {:>10} {:>8} {:>8} {:>6}  {:>10} {:>8} {:>8} {:>6}  {:>5}",
            "store",
            "sessions",
            "axum /s",
            "p50 us",
            "p99 us",
            "cpu us",
            "hub /s",
            "p50 us",
            "p99 us",
            "cpu us",
            "ratio"
        );
        let only = std::env::args().nth(2);
        let only_sessions = std::env::args().nth(3);
        for durable in [false, true] {
            if only
                .as_deref()
                .is_some_and(|only| (only == "SQLite") != durable)
            {
                continue;
            }
            for sessions in SESSIONS {
                let is_wanted = |only: &String| *only == sessions.to_string();
                if !only_sessions.as_ref().is_none_or(is_wanted) {
                    continue;
                }
                // The plain handler and the hub alternate, so that other load on the machine
                // affects both.
                let (mut plain, mut ours) = (Load::default(), Load::default());
                for _ in 0..3 {
                    plain.add(plain_load(durable, sessions, seconds).await?);
                    ours.add(hub_load(durable, sessions, seconds).await?);
                }
                let ratio = ours.rate() / plain.rate();
                println!(
                    "{:8} {sessions:8}  {:10.0} {:8} {:8} {:6.1}  {:10.0} {:8} {:8} {:6.1}  {ratio:5.2}",
                    if durable { "SQLite" } else { "none" },
                    plain.rate(),
                    plain.at(0.5),
                    plain.at(0.99),
                    plain.cpu_each(),
                    ours.rate(),
                    ours.at(0.5),
                    ours.at(0.99),
                    ours.cpu_each(),
                );
            }
        }
        Ok(())
    })
}

/// How long each message took, and how long the measurement took.
#[derive(Default)]
struct Load {
    micros: Vec<u64>,
    seconds: f64,
    /// The seconds of processor time.
    cpu: f64,
}

impl Load {
    fn add(&mut self, other: Self) {
        self.micros.extend(other.micros);
        self.seconds += other.seconds;
        self.cpu += other.cpu;
    }

    fn rate(&self) -> f64 {
        self.micros.len() as f64 / self.seconds
    }

    /// Returns the microseconds of processor time for each message.
    fn cpu_each(&self) -> f64 {
        self.cpu * 1e6 / self.micros.len() as f64
    }

    fn at(&mut self, share: f64) -> u64 {
        self.micros.sort_unstable();
        let last = self.micros.len().saturating_sub(1);
        self.micros
            .get((last as f64 * share) as usize)
            .copied()
            .unwrap_or_default()
    }
}

/// Two clients of a session that have joined and can exchange messages.
trait Pair: Send + 'static {
    /// Sends a message, and returns when it has arrived and is acknowledged.
    fn turn(&mut self, number: u64) -> impl Future<Output = Result<(), AnyError>> + Send;
}

async fn load<P: Pair>(pairs: Vec<P>, seconds: u64) -> Result<Load, AnyError> {
    let stop = Arc::new(AtomicBool::new(false));
    let (start, cpu) = (Instant::now(), cpu()?);
    let tasks: Vec<_> = pairs
        .into_iter()
        .map(|mut pair| {
            let stop = Arc::clone(&stop);
            tokio::spawn(async move {
                let mut micros = Vec::new();
                let mut number = 0;
                while !stop.load(Ordering::Relaxed) {
                    let began = Instant::now();
                    number += 1;
                    pair.turn(number).await?;
                    micros.push(began.elapsed().as_micros() as u64);
                }
                Ok::<_, AnyError>(micros)
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    stop.store(true, Ordering::Relaxed);
    let mut load = Load::default();
    for task in tasks {
        load.micros.extend(task.await??);
    }
    load.seconds = start.elapsed().as_secs_f64();
    load.cpu = self::cpu()? - cpu;
    Ok(load)
}

/// Returns the processor seconds that this process has used.
fn cpu() -> Result<f64, AnyError> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    let (_, rest) = text.rsplit_once(')').ok_or("no name")?;
    let ticks = rest.split_whitespace().skip(11).take(2);
    let ticks: Vec<u64> = ticks.map(str::parse).collect::<Result<_, _>>()?;
    // In this file, Linux always counts 100 ticks per second, independent of the kernel's own timer.
    Ok(ticks.iter().sum::<u64>() as f64 / 100.0)
}

async fn next(socket: &mut Socket) -> Result<String, AnyError> {
    loop {
        match socket.next().await.ok_or("the socket is closed")?? {
            Message::Text(text) => return Ok(text.to_string()),
            Message::Close(close) => return Err(format!("closed: {close:?}").into()),
            _ => {}
        }
    }
}

// Measuring the hub.

async fn hub_load(durable: bool, sessions: usize, seconds: u64) -> Result<Load, AnyError> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("hub.accp");
    let mut config = Config {
        listen: "127.0.0.1:0".parse()?,
        ..Config::default()
    };
    config.limits.frames_per_second = u32::MAX;
    let sessions_of_hub = Sessions::new(&config, move || match durable {
        true => Committer::new(SqliteStore::open(&file)?),
        false => Ok(Committer::inline(MemoryStore::new())),
    })?;
    let server = Server::bind(config, sessions_of_hub, Open).await?;
    let address = server.address();
    let (end, ended) = oneshot::channel::<()>();
    let task = tokio::spawn(server.run(async move { drop(ended.await) }));
    let mut pairs = Vec::new();
    for at in 0..sessions {
        let reader = Member::join(address, at, "reader", 'b').await?;
        let writer = Member::join(address, at, "writer", 'a').await?;
        pairs.push(Members { writer, reader });
    }
    let load = load(pairs, seconds).await?;
    drop(end);
    task.await?;
    Ok(load)
}

/// A minimal member: it stores nothing, and acknowledges the frames that it gets.
struct Member {
    socket: Socket,
    name: &'static str,
    letter: char,
    made: u64,
}

impl Member {
    async fn join(
        address: SocketAddr,
        session: usize,
        name: &'static str,
        letter: char,
    ) -> Result<Self, AnyError> {
        let url = format!("ws://{address}/accp/v1/ws?session=s{session}");
        let (socket, _) = tokio_tungstenite::connect_async_with_config(url, None, true).await?;
        let mut member = Self {
            socket,
            name,
            letter,
            made: 0,
        };
        member.hello(0).await?;
        let hello = next(&mut member.socket).await?;
        let held = number(&hello, "pos:").ok_or("no position")?;
        member.hello(held).await?;
        while !next(&mut member.socket).await?.contains(">sync:registry{") {}
        Ok(member)
    }

    /// Acknowledges the log up to `position`, if it is a multiple of [`ACKNOWLEDGED`].
    async fn holds(&mut self, position: u64) -> Result<(), AnyError> {
        if position.is_multiple_of(ACKNOWLEDGED) {
            self.say("ack:frame{}", position, "").await?;
        }
        Ok(())
    }

    async fn hello(&mut self, held: u64) -> Result<(), AnyError> {
        let rest = format!("sync:registry{{v:1|hash:a32838|pos:{held}|ext:[]|next:1}}");
        self.say(&rest, held, "").await
    }

    async fn say(&mut self, rest: &str, seq: u64, more: &str) -> Result<(), AnyError> {
        let Self { name, letter, .. } = self;
        self.made += 1;
        let text = format!(
            "@{name}>{rest}[mid:{letter}{:011},seq:{seq},ts:{}{more}]",
            self.made,
            now()
        );
        Ok(self.socket.send(Message::text(text)).await?)
    }
}

/// A member sends one acknowledgement for this many entries. The hub sends up to 64 entries without an
/// acknowledgement.
const ACKNOWLEDGED: u64 = 16;

fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

fn number(frame: &str, key: &str) -> Option<u64> {
    let (_, rest) = frame.rsplit_once(key)?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

struct Members {
    writer: Member,
    reader: Member,
}

impl Pair for Members {
    async fn turn(&mut self, number_of: u64) -> Result<(), AnyError> {
        let rest = format!("req:note{{text:{BODY}}}");
        self.writer.say(&rest, number_of, "").await?;
        loop {
            let frame = next(&mut self.reader.socket).await?;
            if let Some(position) = number(&frame, "pos:") {
                self.reader.holds(position).await?;
                if frame.contains(">req:note{") {
                    break;
                }
            }
        }
        let (mut is_acknowledged, mut is_back) = (false, false);
        while !(is_acknowledged && is_back) {
            let frame = next(&mut self.writer.socket).await?;
            if frame.contains(">fail:error{") {
                return Err(frame.into());
            }
            is_acknowledged |= frame.contains(">ack:frame{");
            if let Some(position) = number(&frame, "pos:") {
                self.writer.holds(position).await?;
                is_back |= frame.contains(">req:note{");
            }
        }
        Ok(())
    }
}

// Measuring the plain handler.

#[derive(Clone)]
struct Plain {
    peers: Arc<Mutex<HashMap<String, mpsc::Sender<String>>>>,
    inserts: Option<mpsc::UnboundedSender<Insert>>,
}

struct Insert {
    session: String,
    text: String,
    done: oneshot::Sender<()>,
}

#[derive(serde::Deserialize)]
struct Who {
    session: String,
    agent: String,
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Note {
    id: u64,
    to: String,
    text: String,
}

async fn plain_load(durable: bool, sessions: usize, seconds: u64) -> Result<Load, AnyError> {
    let folder = tempfile::tempdir()?;
    let inserts = durable
        .then(|| inserter(&folder.path().join("plain.db")))
        .transpose()?;
    let state = Plain {
        peers: Arc::default(),
        inserts,
    };
    let routes = Router::new().route("/ws", get(serve)).with_state(state);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    use axum::serve::ListenerExt as _;
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    let server = tokio::spawn(async move { axum::serve(listener, routes).await });
    let mut pairs = Vec::new();
    for at in 0..sessions {
        let join = async |agent: &str| -> Result<Socket, AnyError> {
            let url = format!("ws://{address}/ws?session=s{at}&agent={agent}");
            let (mut socket, _) =
                tokio_tungstenite::connect_async_with_config(url, None, true).await?;
            next(&mut socket).await?;
            Ok(socket)
        };
        let (reader, writer) = (join("reader").await?, join("writer").await?);
        pairs.push(Plains { writer, reader });
    }
    let load = load(pairs, seconds).await?;
    server.abort();
    Ok(load)
}

async fn serve(
    upgrade: WebSocketUpgrade,
    Query(who): Query<Who>,
    State(state): State<Plain>,
) -> axum::response::Response {
    upgrade.on_upgrade(move |socket| async move {
        // An error means that the peer is gone. Then its socket ends here.
        let _ = talk(socket, who, state).await;
    })
}

async fn talk(mut socket: WebSocket, who: Who, state: Plain) -> Result<(), AnyError> {
    let (to_me, mut for_me) = mpsc::channel(64);
    let name = format!("{}/{}", who.session, who.agent);
    state
        .peers
        .lock()
        .map_err(|_| "poisoned")?
        .insert(name, to_me);
    socket.send(Served::Text("hello".into())).await?;
    loop {
        tokio::select! {
            Some(text) = for_me.recv() => socket.send(Served::Text(String::into(text))).await?,
            message = socket.recv() => {
                let Some(Ok(Served::Text(text))) = message else { return Ok(()) };
                let note: Note = serde_json::from_str(&text)?;
                let said = serde_json::to_string(&note)?;
                if let Some(inserts) = &state.inserts {
                    let (done, kept) = oneshot::channel();
                    let insert = Insert { session: who.session.clone(), text: said.clone(), done };
                    inserts.send(insert)?;
                    kept.await?;
                }
                let to = format!("{}/{}", who.session, note.to);
                let peer = state.peers.lock().map_err(|_| "poisoned")?.get(&to).cloned();
                if let Some(peer) = peer {
                    peer.send(said).await?;
                }
                socket.send(Served::Text(format!("{{\"ack\":{}}}", note.id).into())).await?;
            }
        }
    }
}

/// Inserts rows in transactions. A transaction takes all rows that came during the previous one, 256 at most.
fn inserter(file: &Path) -> Result<mpsc::UnboundedSender<Insert>, AnyError> {
    let mut db = rusqlite::Connection::open(file)?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "FULL")?;
    db.execute_batch("CREATE TABLE note (session TEXT, at INTEGER, text TEXT, PRIMARY KEY (session, at)) WITHOUT ROWID")?;
    let (sender, mut received) = mpsc::unbounded_channel::<Insert>();
    std::thread::spawn(move || -> Result<(), AnyError> {
        let mut at = 0;
        while let Some(first) = received.blocking_recv() {
            let mut group = vec![first];
            while group.len() < 256
                && let Ok(next) = received.try_recv()
            {
                group.push(next);
            }
            let transaction = db.transaction()?;
            for insert in &group {
                at += 1;
                let mut row = transaction.prepare_cached("INSERT INTO note VALUES (?1, ?2, ?3)")?;
                row.execute((&insert.session, at, &insert.text))?;
            }
            transaction.commit()?;
            for insert in group {
                let _ = insert.done.send(());
            }
        }
        Ok(())
    });
    Ok(sender)
}

struct Plains {
    writer: Socket,
    reader: Socket,
}

impl Pair for Plains {
    async fn turn(&mut self, number: u64) -> Result<(), AnyError> {
        let note = Note {
            id: number,
            to: "reader".to_owned(),
            text: BODY.to_owned(),
        };
        self.writer
            .send(Message::text(serde_json::to_string(&note)?))
            .await?;
        next(&mut self.reader).await?;
        next(&mut self.writer).await?;
        Ok(())
    }
}
