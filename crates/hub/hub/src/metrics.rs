//! Counts of what a hub does, for Prometheus.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Counts since the start of the hub.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// Frames that came by POST, by their outcome. `later` counts values, and requests for MCP and A2A, too.
    pub(crate) accepted: AtomicU64,
    pub(crate) refused: AtomicU64,
    /// Frames with another number than the one that is due. A sender that does not know the number asks for it in
    /// this way.
    pub(crate) misnumbered: AtomicU64,
    pub(crate) silent: AtomicU64,
    pub(crate) later: AtomicU64,
    /// Requests that were refused before they reached a session.
    pub(crate) denied: AtomicU64,
    /// Answers that were broken off, because the log could not be read or the right was over.
    pub(crate) cut: AtomicU64,
    /// Requests and sockets that were forwarded to another hub.
    pub(crate) forwarded: AtomicU64,
    /// Frames over sockets.
    pub(crate) received: AtomicU64,
    pub(crate) sent: AtomicU64,
    pub(crate) sockets: AtomicI64,
    /// Sockets that ended because the peer was silent, or did not read.
    pub(crate) dropped: AtomicU64,
    pub(crate) connections: AtomicI64,
}

pub(crate) fn add(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Adds one to a gauge as long as this value lives.
pub(crate) struct Up<'a>(&'a AtomicI64);

impl<'a> Up<'a> {
    pub(crate) fn new(gauge: &'a AtomicI64) -> Self {
        gauge.fetch_add(1, Ordering::Relaxed);
        Self(gauge)
    }
}

impl Drop for Up<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Metrics {
    /// Writes the counts in Prometheus's text format.
    pub(crate) fn text(&self, sessions: usize) -> String {
        let metrics = self;
        let mut text = String::new();
        let mut family = |name: &str, kind: &str, help: &str, rows: &[(&str, i64)]| {
            let _ = writeln!(text, "# HELP accp_{name} {help}\n# TYPE accp_{name} {kind}");
            for (labels, value) in rows {
                let _ = writeln!(text, "accp_{name}{labels} {value}");
            }
        };
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed).cast_signed();
        let gauge = |gauge: &AtomicI64| gauge.load(Ordering::Relaxed);
        family(
            "posted_frames_total",
            "counter",
            "Frames that came by POST, by what became of them.",
            &[
                ("{fate=\"accepted\"}", count(&metrics.accepted)),
                ("{fate=\"refused\"}", count(&metrics.refused)),
                ("{fate=\"misnumbered\"}", count(&metrics.misnumbered)),
                ("{fate=\"silent\"}", count(&metrics.silent)),
                ("{fate=\"later\"}", count(&metrics.later)),
            ],
        );
        family(
            "denied_requests_total",
            "counter",
            "Requests that were refused before a session saw them.",
            &[("", count(&metrics.denied))],
        );
        family(
            "cut_answers_total",
            "counter",
            "Answers that stopped before their end: the log could not be read, or a token was over.",
            &[("", count(&metrics.cut))],
        );
        family(
            "forwarded_requests_total",
            "counter",
            "Requests and sockets that were handed on to another hub.",
            &[("", count(&metrics.forwarded))],
        );
        family(
            "socket_frames_total",
            "counter",
            "Frames over sockets.",
            &[
                ("{way=\"in\"}", count(&metrics.received)),
                ("{way=\"out\"}", count(&metrics.sent)),
            ],
        );
        family(
            "sockets_dropped_total",
            "counter",
            "WebSockets that ended because the peer was silent or did not read.",
            &[("", count(&metrics.dropped))],
        );
        family(
            "sockets",
            "gauge",
            "WebSockets that are open.",
            &[("", gauge(&metrics.sockets))],
        );
        family(
            "connections",
            "gauge",
            "Connections that are open.",
            &[("", gauge(&metrics.connections))],
        );
        let sessions = i64::try_from(sessions).unwrap_or(i64::MAX);
        family(
            "sessions",
            "gauge",
            "Sessions in memory.",
            &[("", sessions)],
        );
        text
    }
}
