//! Measures whether a sender can find out from the time of the answer why the hub silently rejected a frame (draft
//! section 3.7).
//!
//! One caller posts frames over one connection on loopback. The hub drops the frames and answers each with 202 and
//! nothing else. The frames differ only in the digits of their time and of the chains that they name. The reasons
//! alternate in a random order, so that other programs disturb all of them equally. For each pair of reasons the
//! program prints the chance that a frame of the first reason takes longer than a frame of the second (the AUC of the
//! Mann-Whitney test): 0.5 means that nobody can tell the reasons apart. The interval holds the true value in 99 of
//! 100 runs.
//!
//! ```sh
//! cargo run --release --manifest-path benches/Cargo.toml --bin hub-silence -- 20000       # rounds
//! cargo run --release --manifest-path benches/Cargo.toml --bin hub-silence -- 20000 3     # a planted delay
//! ```
//!
//! With a planted delay, each frame of the first reason takes this many microseconds longer. The program fails if
//! it sees a difference that nobody planted, or does not see the planted one.

use std::error::Error;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use accp_hub::{Config, Open, Server, Sessions};
use accp_store::{Committer, MemoryStore, SqliteStore};
use tokio::sync::oneshot;

type AnyError = Box<dyn Error + Send + Sync>;

/// The number of cancelled chains, and also the number of open chains.
const CHAINS: u64 = 200;
/// The number of chains in a row, each below the previous chain. Dropped frames name the last chain of the row.
const DEPTH: u64 = 60;
/// An AUC this near to 0.5 does not count as a difference: somebody who guesses the reason of a frame from its time
/// would be right in 51 of 100 cases instead of 50.
const SAME: f64 = 0.02;
/// Half the width of an interval of 99 %, in standard errors.
const WIDTH: f64 = 2.576;

/// Why the hub drops a frame.
#[derive(Clone, Copy, PartialEq)]
enum Reason {
    Late,
    LateDeep,
    Cancelled,
    CancelledDeep,
    CancelledAbove,
    Both,
}

const REASONS: [(Reason, &str); 6] = [
    (Reason::Late, "late"),
    (Reason::LateDeep, "late, 60 chains deep"),
    (Reason::Cancelled, "cancelled"),
    (Reason::CancelledDeep, "cancelled, 60 chains deep"),
    (Reason::CancelledAbove, "cancelled 60 chains above"),
    (Reason::Both, "late and cancelled"),
];

fn main() -> Result<ExitCode, AnyError> {
    let mut args = std::env::args().skip(1);
    let rounds: u64 = args.next().map_or(Ok(20_000), |text| text.parse())?;
    let planted: u64 = args.next().map_or(Ok(0), |text| text.parse())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let mut is_well = true;
    for durable in [false, true]
        .into_iter()
        .take(if planted > 0 { 1 } else { 2 })
    {
        // A commit is slow, so a durable store gets fewer rounds.
        let rounds = if durable { rounds / 4 } else { rounds };
        println!(
            "{}, {rounds} rounds",
            if durable { "SQLite" } else { "no store" }
        );
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("hub.accp");
        let mut config = Config {
            listen: "127.0.0.1:0".parse()?,
            ..Config::default()
        };
        config.limits.frames_per_second = u32::MAX;
        let sessions = Sessions::new(&config, move || match durable {
            true => Committer::new(SqliteStore::open(&file)?),
            false => Ok(Committer::inline(MemoryStore::new())),
        })?;
        let server = runtime.block_on(Server::bind(config, sessions, Open))?;
        let address = server.address();
        let (end, ended) = oneshot::channel::<()>();
        let serving = runtime.spawn(server.run(async move { drop(ended.await) }));
        let times = measure(address, rounds, Duration::from_micros(planted))?;
        is_well &= report(&times, planted > 0);
        drop(end);
        runtime.block_on(serving)?;
    }
    Ok(if is_well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Sends frames of each reason. Returns the time of each answer in nanoseconds.
fn measure(hub: SocketAddr, rounds: u64, planted: Duration) -> Result<Vec<Vec<u64>>, AnyError> {
    let mut caller = Caller::connect(hub)?;
    // Chains of one frame each: the first half stays open, the second half is cancelled.
    for chain in 0..2 * CHAINS {
        caller.begin(&name('c', chain), None)?;
    }
    // Three rows of chains, each below the previous chain of its row. One row stays open. In one, the first chain is
    // cancelled, and in one, the last.
    for top in ['d', 'e', 'a'] {
        let mut above = None;
        for depth in 0..DEPTH {
            let chain = name(top, depth);
            caller.begin(&chain, above.as_deref())?;
            above = Some(chain);
        }
    }
    for chain in CHAINS..2 * CHAINS {
        caller.cancel(&name('c', chain))?;
    }
    caller.cancel(&name('e', 0))?;
    caller.cancel(&name('a', DEPTH - 1))?;
    let mut times = vec![Vec::new(); REASONS.len()];
    let mut random = Random(1);
    for round in 0..rounds + rounds / 10 {
        let mut order: Vec<usize> = (0..REASONS.len()).collect();
        for at in (1..order.len()).rev() {
            order.swap(at, random.below(at as u64 + 1) as usize);
        }
        for at in order {
            let (reason, _) = REASONS[at];
            let chance = random.below(CHAINS);
            let chain = match reason {
                Reason::Late => name('c', chance),
                Reason::LateDeep => name('d', DEPTH - 1),
                Reason::CancelledDeep => name('a', DEPTH - 1),
                Reason::CancelledAbove => name('e', DEPTH - 1),
                Reason::Cancelled | Reason::Both => name('c', CHAINS + chance),
            };
            let is_late = matches!(reason, Reason::Late | Reason::LateDeep | Reason::Both);
            let extra = if reason == Reason::Late {
                planted
            } else {
                Duration::ZERO
            };
            let time = caller.dropped(&chain, is_late, extra)?;
            // The first tenth of the rounds is the warm-up.
            if round >= rounds / 10 {
                times[at].push(time.as_nanos() as u64);
            }
        }
    }
    Ok(times)
}

/// Prints the medians, and whether the times show the reason. Returns whether the result is the expected one.
fn report(times: &[Vec<u64>], is_planted: bool) -> bool {
    for (times, (_, name)) in times.iter().zip(REASONS) {
        let mut sorted = times.clone();
        sorted.sort_unstable();
        let at = |share: usize| sorted[(sorted.len() - 1) * share / 100] as f64 / 1000.0;
        println!(
            "  {name:28} p10 {:7.2} us, median {:7.2} us, p90 {:7.2} us",
            at(10),
            at(50),
            at(90)
        );
    }
    let mut is_well = true;
    for a in 0..times.len() {
        for b in a + 1..times.len() {
            let auc = auc(&times[a], &times[b]);
            let half = WIDTH * (2.0 * times[a].len() as f64 + 1.0).sqrt()
                / (12.0_f64.sqrt() * times[a].len() as f64);
            // The planted delay affects only the first reason.
            let is_expected = is_planted && a == 0;
            let is_apart = (auc - 0.5).abs() > half;
            let is_useful = is_apart && (auc - 0.5).abs() > SAME;
            is_well &= is_useful == is_expected;
            println!(
                "  {:28} {:28} AUC {auc:.3} ± {half:.3}: {}",
                REASONS[a].1,
                REASONS[b].1,
                match (is_apart, is_useful) {
                    (false, _) => "nobody can tell",
                    (true, false) => "measurable, below what tells",
                    (true, true) => "can be told apart",
                }
            );
        }
    }
    is_well
}

/// Returns the chance that a value of `a` is greater than a value of `b`.
fn auc(a: &[u64], b: &[u64]) -> f64 {
    let mut all: Vec<(u64, bool)> = a.iter().map(|time| (*time, true)).collect();
    all.extend(b.iter().map(|time| (*time, false)));
    all.sort_unstable();
    // The sum of the ranks of `a`. Equal times all get the mean of their ranks.
    let (mut sum, mut at) = (0.0, 0);
    while at < all.len() {
        let same = all[at..]
            .iter()
            .take_while(|one| one.0 == all[at].0)
            .count();
        let rank = at as f64 + (same as f64 + 1.0) / 2.0;
        let of_a = all[at..at + same].iter().filter(|one| one.1).count();
        sum += rank * of_a as f64;
        at += same;
    }
    let (n, m) = (a.len() as f64, b.len() as f64);
    (sum - n * (n + 1.0) / 2.0) / (n * m)
}

fn name(first: char, number: u64) -> String {
    format!("{first}{number:011x}")
}

/// An agent that posts over one connection.
struct Caller {
    stream: TcpStream,
    seq: u64,
}

impl Caller {
    fn connect(hub: SocketAddr) -> Result<Self, AnyError> {
        let stream = TcpStream::connect(hub)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, seq: 0 })
    }

    /// Begins a chain; below the chain `above`, if there is one.
    fn begin(&mut self, chain: &str, above: Option<&str>) -> Result<(), AnyError> {
        let above = above.map_or(String::new(), |above| format!(",aid:{above}"));
        self.accepted("req:plan{goal:x}", chain, &above)
    }

    fn cancel(&mut self, chain: &str) -> Result<(), AnyError> {
        let mid = name('b', self.seq);
        self.accepted("cancel:task{}", &mid, &format!(",cid:{chain}"))
    }

    fn accepted(&mut self, head: &str, mid: &str, more: &str) -> Result<(), AnyError> {
        self.seq += 1;
        let (seq, now) = (self.seq, now());
        let frame = format!("@a>{head}[mid:{mid},seq:{seq},ts:{now}{more}]");
        match self.post(&frame)? {
            (200, _) => Ok(()),
            (status, said) => Err(format!("{status} to {frame}: {said}").into()),
        }
    }

    /// Sends a frame that the hub drops. Returns the time until the answer arrived.
    fn dropped(
        &mut self,
        chain: &str,
        is_late: bool,
        extra: Duration,
    ) -> Result<Duration, AnyError> {
        self.seq += 1;
        let at = if is_late { now() - 100_000 } else { now() };
        let frame = format!(
            "@a>req:note{{text:x}}[mid:{},seq:{},ts:{at},ttl:60,cid:{chain}]",
            name('f', self.seq),
            self.seq
        );
        let began = Instant::now();
        let (status, said) = self.post(&frame)?;
        let answered = Instant::now();
        while answered.elapsed() < extra {}
        let time = began.elapsed();
        if (status, said.as_str()) == (202, "") {
            Ok(time)
        } else {
            Err(format!("{status} to {frame}: {said}").into())
        }
    }

    fn post(&mut self, frame: &str) -> Result<(u16, String), AnyError> {
        let request = format!(
            "POST /accp/v1/frames?session=silence HTTP/1.1\r\nHost: localhost\r\n\
             Content-Type: application/accp\r\nContent-Length: {}\r\n\r\n{frame}",
            frame.len()
        );
        self.stream.write_all(request.as_bytes())?;
        let mut held = Vec::new();
        let mut piece = [0; 4096];
        loop {
            let read = self.stream.read(&mut piece)?;
            if read == 0 {
                return Err("the hub has closed the connection".into());
            }
            held.extend_from_slice(&piece[..read]);
            let text = std::str::from_utf8(&held)?;
            let Some((head, body)) = text.split_once("\r\n\r\n") else {
                continue;
            };
            let length = head.lines().find_map(|line| {
                let (key, value) = line.split_once(": ")?;
                let is_length = key.eq_ignore_ascii_case("content-length");
                is_length.then(|| value.parse::<usize>().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                let status = head.get(9..12).ok_or("no status")?.parse()?;
                return Ok((status, body.to_owned()));
            }
        }
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// A generator of pseudo-random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}
