//! The requirements of CTX-001 for lists of messages, CTX-01 to CTX-74. Each has a test in which the requirement
//! holds, and a test in which a violation is refused. The tests use folders on the disk.

mod behaviour;
mod commands;
mod drift;
mod forms;
mod judges;
mod log;
mod messages;
mod paths;
mod principles;
mod put_back;
mod recovery;
mod session;
mod summary;
mod talk;
mod thresholds;
mod tier1;
mod tier2;
mod tier3;
mod validity;
