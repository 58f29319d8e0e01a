//! The host accepts or drops a frame. Checks whether the time that the host takes tells the sender which of the two
//! the host did. The frames differ only in this fate. Measures the time of `receive`, and the time that the sender can
//! measure.

use std::time::Instant;

use accp_bench::{Goal, figure, median, quantile, talk};
use accp_runtime::session::{MemberId, Scope, Session};
use accp_session::{Batch, Output};
use accp_store::{SqliteStore, Store as _};
use tempfile::TempDir;

/// The number of frames with the same fate that are measured together.
const BLOCK: u64 = 32;
/// The number of rounds. In each round, every fate has one block of frames.
const ROUNDS: usize = 1001;
const REPEATS: usize = 7;

/// What the host does with a frame, and the fields of the frame that cause this.
#[derive(Clone, Copy)]
struct Fate {
    name: &'static str,
    ts: u64,
    /// The number of the frame that began its chain.
    chain: u64,
    dropped: bool,
}

const ACCEPTED: Fate = Fate {
    name: "accepted and not answered",
    ts: 1_714_000_000,
    chain: OPEN,
    dropped: false,
};

const FATES: [Fate; 4] = [
    Fate {
        name: "expired",
        ts: 1_713_000_000,
        chain: OPEN,
        dropped: true,
    },
    // The same case a second time. The difference between both is the noise of the measurement.
    Fate {
        name: "expired, once more",
        ts: 1_713_000_000,
        chain: OPEN,
        dropped: true,
    },
    Fate {
        name: "cancelled",
        ts: 1_714_000_000,
        chain: CANCELLED,
        dropped: true,
    },
    ACCEPTED,
];

/// The numbers of two requests. The third frame cancels the second request.
const OPEN: u64 = 1;
const CANCELLED: u64 = 2;

pub fn bench() {
    println!("expiry: `receive` of a frame, in blocks of {BLOCK} by turns");
    // Accepted frames are not compared here: `receive` also folds them and hands them on, which is not part of the
    // decision.
    compare(ChainHost::new(None), ROUNDS, &["cancelled"]);
    println!("  until the frame after it can be acknowledged: both committed to a SQLite file");
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let store = SqliteStore::open(folder.path().join("session.accp")).expect("a store");
    compare(
        ChainHost::new(Some(store)),
        ROUNDS / 7,
        &["cancelled", "accepted and not answered"],
    );
    println!();
}

/// Measures each fate, and compares the fates in `alike` with the first fate: their times must be the same.
fn compare(mut chains: ChainHost, rounds: usize, alike: &[&str]) {
    chains.round(0); // the first is slower
    let mut ratios = vec![Vec::new(); FATES.len()];
    let mut all = vec![Vec::new(); FATES.len()];
    for _ in 0..REPEATS {
        let mut times = vec![Vec::new(); FATES.len()];
        for round in 0..rounds {
            for (times, time) in times.iter_mut().zip(chains.round(round)) {
                times.push(time);
            }
        }
        let base = median(times[0].clone());
        for (fate, times) in times.into_iter().enumerate() {
            ratios[fate].push(median(times.clone()) / base);
            all[fate].extend(times);
        }
    }
    // The allowed difference in percent. On a busy machine, two medians of the same case differ by 2 %.
    let mut noise = 2.0_f64;
    for ((fate, times), ratios) in FATES.iter().zip(all).zip(&ratios) {
        let time = |share| quantile(times.clone(), share);
        let ratio = |share| quantile(ratios.clone(), share);
        println!(
            "  {:<28} {:>8.1} ns, middle half {:>8.1} to {:>8.1}; of expired {:.3}, over {REPEATS} repeats {:.3} to {:.3}",
            fate.name,
            time(0.5),
            time(0.25),
            time(0.75),
            ratio(0.5),
            ratio(0.0),
            ratio(0.999),
        );
        if fate.name == FATES[1].name {
            let apart = ratios.iter().map(|ratio| (ratio - 1.0).abs() * 100.0);
            noise = (apart.fold(noise, f64::max) * 10.0).ceil() / 10.0;
        }
    }
    for (fate, ratios) in FATES.iter().zip(ratios) {
        if alike.contains(&fate.name) {
            let difference = (median(ratios) - 1.0).abs() * 100.0;
            let what = format!("{}: differs from expired", fate.name);
            figure(&what, difference, "%", Goal::AtMost(noise));
        }
    }
}

/// A host with an open chain and a cancelled chain.
struct ChainHost {
    host: Session,
    store: Option<SqliteStore>,
    member: MemberId,
    number: u64,
}

impl ChainHost {
    fn new(store: Option<SqliteStore>) -> Self {
        let mut host = Session::host(
            talk::options("hub", &None),
            talk::rules(Scope::Sender),
            talk::NOW,
        );
        let member = talk::join(&mut host);
        while host.poll().is_some() {}
        let mut chains = Self {
            host,
            store,
            member,
            number: 3,
        };
        let request = |number| {
            let mid = talk::mid(number);
            format!("@planner>req:plan{{}}[mid:{mid},seq:{number},ts:1714000000]")
        };
        let cancel = format!(
            "@planner>cancel:task{{}}[mid:{},seq:3,ts:1714000000,cid:{}]",
            talk::mid(3),
            talk::mid(CANCELLED)
        );
        let texts = [request(OPEN), request(CANCELLED), cancel];
        for text in &texts {
            chains.host.receive(member, text.as_bytes(), talk::NOW);
        }
        chains.settle(&Batch::default());
        assert_eq!(chains.host.state().position(), chains.host.position());
        chains
    }

    /// Returns the nanoseconds of a decision for each fate. The CPU caches still hold data of the previous fate. So,
    /// over four rounds, each fate follows every other fate equally often.
    fn round(&mut self, round: usize) -> [f64; FATES.len()] {
        let mut times = [0.0; FATES.len()];
        for turn in [0, 1, 3, 2] {
            let fate = (round + turn) % FATES.len();
            times[fate] = self.block(FATES[fate]);
        }
        times
    }

    fn block(&mut self, fate: Fate) -> f64 {
        let text = |number: u64, fate: Fate| {
            let (mid, ts, chain) = (talk::mid(number), fate.ts, talk::mid(fate.chain));
            format!(
                "@planner>req:schedule{{asgn:hub|task:impl_auth|pri:high|dead:sprint_14|\
                 deps:[plan,design]|schema:TA}}\
                 [mid:{mid},seq:{number},ts:{ts},ttl:600,cid:{chain}]"
            )
        };
        let count = if self.store.is_some() { 1 } else { BLOCK };
        let numbers = self.number + 1..=self.number + count;
        let mut texts: Vec<_> = numbers.map(|number| text(number, fate)).collect();
        if self.store.is_some() {
            texts.push(text(self.number + 2, ACCEPTED));
        }
        let start = Instant::now();
        for text in &texts {
            self.host.receive(self.member, text.as_bytes(), talk::NOW);
        }
        let mut time = start.elapsed();
        let Some(Output::Batch(batch)) = self.host.poll() else {
            panic!("frames were taken");
        };
        if self.store.is_some() {
            self.keep(&batch);
            time = start.elapsed();
        }
        self.number += texts.len() as u64;
        // Each frame became an entry of the log, and the host did not answer the dropped frames.
        let heard = if fate.dropped {
            texts.len() as u64 - count
        } else {
            texts.len() as u64
        };
        assert_eq!(batch.entries.len(), texts.len());
        assert_eq!(batch.sends.is_empty(), heard == 0);
        assert_eq!(batch.inbound.len() as u64, heard);
        self.settle(&batch);
        time.as_nanos() as f64 / count as f64
    }

    fn keep(&mut self, batch: &Batch) {
        if let Some(store) = &mut self.store {
            store
                .commit(&[(&super::side(), batch)])
                .expect("it is kept");
        }
    }

    /// Handles all delivered frames.
    fn settle(&mut self, batch: &Batch) {
        for inbound in &batch.inbound {
            let handled = self.host.handled(inbound.position(), &[], talk::NOW);
            handled.expect("it waits");
        }
        while let Some(Output::Batch(batch)) = self.host.poll() {
            self.keep(&batch);
            self.settle(&batch);
        }
    }
}
