//! The tests of this crate are one program, because each program is linked by itself.

mod bridge;
mod conformance_packet;
mod conformance_packet_words;
mod conformance_packet_workflows;
mod derived;
mod fallback;
mod properties;
mod support;
