//! The debug log of frames that no session logs.

/// Logs a frame that no session receives or sends on a link, for the debug mode (draft section 9, item 1).
pub(crate) fn log(session: &str, agent: &str, way: &str, frame: &[u8]) {
    let frame = String::from_utf8_lossy(frame);
    for frame in frame.lines() {
        tracing::debug!(target: "accp::frames", session, agent, way, frame);
    }
}
