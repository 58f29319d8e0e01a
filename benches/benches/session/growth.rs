//! Checks that the number of bytes written for each frame does not grow with the length of the session.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use accp_bench::{Goal, figure};

use crate::log::{GROUP, Log};

const STEPS: [u64; 8] = [
    10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 750_000, 1_000_000,
];
/// The bytes per frame are compared from this number of frames on. Then the costs of the start hardly count.
const LONG: u64 = 100_000;
/// The columns of the table: the number of frames, the bytes of the entries and the snapshots in the batches, and the
/// bytes on the disk.
const COLUMNS: [&str; 6] = ["frames", "entries", "snapshots", "file", "wal", "written"];

pub fn bench() {
    println!("growth: a session with a checkpoint every other frame, {GROUP} frames a commit");
    println!("  bytes so far, and of each frame so far in batches, in the file, and written");
    let heads = COLUMNS.map(|name| format!("{name:>11}")).join("");
    println!(
        "{heads} {:>9} {:>7} {:>7} {:>9}",
        "batches", "file", "written", "seconds"
    );
    let mut csv = COLUMNS.join(",") + "\n";
    let before = written_by_process();
    let start = Instant::now();
    let mut log = Log::new();
    let (mut batches, mut files, mut writes) = (Vec::new(), Vec::new(), Vec::new());
    for frames in STEPS {
        log.grow_to(frames);
        let (file, wal) = log.sizes();
        let written = written_by_process() - before;
        let row = [frames, log.entries, log.snapshots, file, wal, written];
        let _ = writeln!(csv, "{}", row.map(|number| number.to_string()).join(","));
        let each = |bytes: u64| bytes as f64 / frames as f64;
        let (batch, in_file, write) =
            (each(log.entries + log.snapshots), each(file), each(written));
        let row = row.map(|number| format!("{number:>11}")).join("");
        let seconds = start.elapsed().as_secs_f64();
        println!("{row} {batch:>9.1} {in_file:>7.1} {write:>7.1} {seconds:>9.1}");
        if frames >= LONG {
            batches.push(batch);
            files.push(in_file);
            writes.push(write);
        }
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("session_growth.csv");
    std::fs::write(&path, csv).expect("the target folder can be written");
    println!("  to plot it: {}", path.display());
    let share = 100.0 * log.snapshots as f64 / (log.entries + log.snapshots) as f64;
    figure(
        "snapshots, of the bytes of all batches",
        share,
        "%",
        Goal::None,
    );
    let all = [
        ("in batches", batches),
        ("in the file", files),
        ("written", writes),
    ];
    for (what, values) in all {
        let what = format!("a frame {what}: from {LONG} on it varies by");
        figure(&what, spread(&values), "%", Goal::AtMost(5.0));
    }
    println!();
}

/// Returns the percentage by which the largest value is above the smallest.
fn spread(values: &[f64]) -> f64 {
    let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = values.iter().copied().fold(0.0, f64::max);
    (largest / smallest - 1.0) * 100.0
}

/// Returns the bytes that this process has written, or 0 if the system does not tell it.
fn written_by_process() -> u64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let mut lines = io.lines();
    let written = lines.find_map(|line| line.strip_prefix("wchar: ")?.parse().ok());
    written.unwrap_or(0)
}
