//! Checks the rules for the frames of a session that depend on earlier frames.

use std::collections::BTreeMap;

use accp_frame::{DynamicFrame, ErrorCode, Intent};
use accp_session::{SharedState, StateUpdate};

use crate::fault::Fault;

/// How the frames of a session are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Numbering {
    /// All senders count together
    Shared,
    /// Each sender counts its own frames
    Sender,
}

/// What the rules have to know about the earlier frames of a session. The frames are in the order of the log. The
/// file may begin in the middle of the session.
pub(crate) struct SessionRules {
    numbering: Numbering,
    /// The next number of each sender, by the name of the sender. If all senders count together, the only key is the
    /// empty name.
    next: BTreeMap<String, u64>,
    /// Whether the file begins with the first frame of the session.
    is_whole: bool,
    /// The line of each frame, by the frame's message id.
    seen: BTreeMap<String, u64>,
    /// The chain of each frame that names a chain, by the frame's message id.
    chains: BTreeMap<String, String>,
    /// For each cancelled chain, the line that cancelled it.
    cancelled: BTreeMap<String, u64>,
    /// The latest time that a frame names, with its line.
    latest: Option<(i64, u64)>,
    /// The shared state; `None` as long as no frame of the file has shown the state.
    state: Option<SharedState>,
}

impl SessionRules {
    pub(crate) fn new(numbering: Numbering) -> Self {
        Self {
            numbering,
            next: BTreeMap::new(),
            is_whole: false,
            seen: BTreeMap::new(),
            chains: BTreeMap::new(),
            cancelled: BTreeMap::new(),
            latest: None,
            state: None,
        }
    }

    /// Checks a frame against the frames before it, and remembers it.
    pub(crate) fn check(
        &mut self,
        text: &str,
        line: u64,
        message: &DynamicFrame<'_>,
    ) -> Result<(), Fault> {
        if is_about_the_link(message) {
            return Ok(());
        }
        envelope(text, message, false)?;
        let mid = message.envelope.msg_id.as_deref().unwrap_or_default();
        let sequence = message.envelope.sequence.unwrap_or_default();
        let (is_first, expected) = self.number(message, sequence);
        if let Some(before) = self.seen.insert(mid.to_owned(), line) {
            let what = format!("expected a mid of its own, found that of line {before}");
            let cure = "a host takes each message id once; leave out what was sent again";
            return Err(fault(ErrorCode::DUPLICATE, text, "mid", what).cured(cure));
        }
        if let Some(expected) = expected {
            let what = format!("expected seq:{expected}, found seq:{sequence}");
            let cure = match self.numbering {
                Numbering::Shared => "`--session=sender` if each sender counts its own frames",
                Numbering::Sender => "`--session` if all senders count together",
            };
            return Err(fault(ErrorCode::SEQUENCE_GAP, text, "seq", what).cured(cure));
        }
        if is_first && sequence == 1 {
            self.is_whole = true;
            self.state = Some(SharedState::default());
        }
        self.time(text, line, message)?;
        self.chain(text, line, message, mid)?;
        self.state(text, message)
    }

    /// Records the number of a frame. Returns whether the frame is the first one of the file, and the expected number
    /// if the frame has another number.
    fn number(&mut self, message: &DynamicFrame<'_>, sequence: u64) -> (bool, Option<u64>) {
        let is_first = self.next.is_empty();
        let who = match self.numbering {
            Numbering::Shared => String::new(),
            Numbering::Sender => message.agent.as_str().to_owned(),
        };
        let expected = self.next.insert(who, sequence.saturating_add(1));
        (is_first, expected.filter(|next| *next != sequence))
    }

    fn time(&mut self, text: &str, line: u64, message: &DynamicFrame<'_>) -> Result<(), Fault> {
        let Some(ts) = message.envelope.timestamp else {
            return Ok(());
        };
        let before = self.latest;
        self.latest = before.max(Some((ts, line)));
        let ttl = message.envelope.ttl.unwrap_or(0);
        match before {
            Some((latest, at)) if ttl > 0 && ts.saturating_add(ttl) < latest => {
                let what = format!(
                    "expected a frame before its time is over, found one of ts:{ts} behind ts:{latest} of line {at}"
                );
                let cure = "a host drops it in silence; send it with a longer ttl";
                Err(fault(ErrorCode::TIMEOUT, text, "ttl", what).cured(cure))
            }
            _ => Ok(()),
        }
    }

    fn chain(
        &mut self,
        text: &str,
        line: u64,
        message: &DynamicFrame<'_>,
        mid: &str,
    ) -> Result<(), Fault> {
        let cid = message.envelope.correlation_id.as_deref();
        let aid = message.envelope.causation_id.as_deref();
        let above = aid.map(|aid| self.chains.get(aid).map_or(aid, String::as_str));
        let chain = cid.unwrap_or(mid);
        let is_known =
            |chain: &str| self.chains.contains_key(chain) || self.seen.contains_key(chain);
        let named = self.chains.values().any(|known| known == chain);
        let both = [Some(chain), above];
        let cut = both.iter().find_map(|chain| self.cancelled.get((*chain)?));
        let fault = if message.intent == Intent::CANCEL {
            cid.is_none().then(|| {
                let what = "expected the cid of the chain to cancel".to_owned();
                let cure = "the chain is the cid of its frames, or the mid of the first";
                fault(ErrorCode::INVALID_TYPE, text, "cid", what).cured(cure)
            })
        } else if let Some(cut) = cut {
            let what = format!("expected no frame of a chain that line {cut} has cancelled");
            let key = if cid.is_some() { "cid" } else { "aid" };
            let cure = "a host drops it in silence; begin another chain";
            Some(fault(ErrorCode::POLICY_DENIED, text, key, what).cured(cure))
        } else if matches!(message.intent, Intent::DONE | Intent::FAIL | Intent::END) {
            let is_lost = self.is_whole && cid.is_some() && !named && !is_known(chain);
            is_lost.then(|| {
                let what = format!("expected the cid of a frame above, found cid:{chain}");
                let cure = "an answer names the mid of its request, or the cid of that";
                fault(ErrorCode::REF_NOT_FOUND, text, "cid", what).cured(cure)
            })
        } else {
            None
        };
        if message.intent == Intent::CANCEL && cid.is_some() {
            self.cancelled.entry(chain.to_owned()).or_insert(line);
        }
        self.chains.insert(mid.to_owned(), chain.to_owned());
        fault.map_or(Ok(()), Err)
    }

    fn state(&mut self, text: &str, message: &DynamicFrame<'_>) -> Result<(), Fault> {
        if message.intent != Intent::SYNC || message.operation != "state" {
            return Ok(());
        }
        let update = StateUpdate::decode(text);
        let update = update.map_err(|error| Fault::of_decode(&error, text.as_bytes()))?;
        if message.payload.get("state").is_some() {
            self.state.get_or_insert_default();
        }
        let Some(state) = &mut self.state else {
            return Ok(());
        };
        state
            .apply(update, SharedState::MAX_BYTES)
            .map_err(|error| {
                let shown = error.to_string();
                let what = shown.split_once(": ").map_or(&*shown, |(_, what)| what);
                let (what, cure) = what
                    .split_once("; ")
                    .unwrap_or((what, "send a smaller state"));
                fault(error.code(), text, "v", what.to_owned()).cured(cure)
            })
    }
}

/// Returns whether the frame is a link frame, which has no number of its own.
fn is_about_the_link(message: &DynamicFrame<'_>) -> bool {
    match message.intent {
        Intent::ACK | Intent::PING | Intent::PONG => true,
        Intent::SYNC => matches!(&*message.operation, "registry" | "bytes"),
        Intent::QRY => message.operation == "bytes",
        Intent::FAIL => message.operation == "error" && message.envelope.extra.get("of").is_some(),
        _ => false,
    }
}

/// Checks the envelope of a frame in a session. If `is_sent`, the envelope must have everything
/// that a sender has to set (draft section 3.5).
pub(crate) fn envelope(text: &str, message: &DynamicFrame<'_>, is_sent: bool) -> Result<(), Fault> {
    let missing = |key: &str, what: &str| {
        Err(fault(
            ErrorCode::PARSE_ERROR,
            text,
            key,
            format!("expected {what} in the metadata"),
        )
        .cured("a session sets mid, seq and ts: send frames through one"))
    };
    let Some(mid) = message.envelope.msg_id.as_deref() else {
        return missing("mid", "a mid");
    };
    if is_sent && !(mid.len() == 12 && mid.bytes().all(|b| b.is_ascii_hexdigit())) {
        let what = format!("expected a mid of 12 hexadecimal digits, found mid:{mid}");
        let cure = "a session makes such ids; only a host with `any_mid` takes others";
        return Err(fault(ErrorCode::PARSE_ERROR, text, "mid", what).cured(cure));
    }
    if message.envelope.sequence.is_none() {
        return missing("seq", "a seq");
    }
    if is_sent && message.envelope.timestamp.is_none() {
        return missing("ts", "a ts");
    }
    Ok(())
}

/// Makes a fault. Its place is that of the key `key` in the metadata, or else in the payload, or else the end of the
/// line.
fn fault(code: ErrorCode, text: &str, key: &str, message: String) -> Fault {
    let metadata = text.rfind("}[").map_or(text.len(), |at| at + 1);
    let pair = format!("{key}:");
    let find = |from: usize, to: usize, before: &[char]| {
        let starts = text[from..to].match_indices(&pair).map(|(at, _)| from + at);
        let mut starts = starts.filter(|at| text[..*at].ends_with(before));
        starts.next()
    };
    let at = find(metadata, text.len(), &['[', ',']);
    let at = at.or_else(|| find(0, metadata, &['{', '|']));
    Fault {
        code,
        at: at.unwrap_or(text.len()),
        message,
        cure: None,
    }
}
