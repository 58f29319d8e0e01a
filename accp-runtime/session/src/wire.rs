//! Link frames and control frames.

pub(crate) mod addressee;
pub(crate) mod control;
#[expect(
    unreachable_pub,
    reason = "generated code is public; its module decides"
)]
pub(crate) mod frames;
pub(crate) mod inline;
pub(crate) mod link;
pub(crate) mod marks;
pub(crate) mod refusal;
pub(crate) mod relay;
pub(crate) mod relayed;
pub(crate) mod scan;
pub(crate) mod stamp;
