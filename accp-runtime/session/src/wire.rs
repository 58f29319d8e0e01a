//! Link frames and control frames.

pub(crate) mod control;
#[expect(
    unreachable_pub,
    clippy::enum_variant_names,
    clippy::large_enum_variant,
    reason = "generated code is public; its module decides"
)]
pub(crate) mod frames;
pub(crate) mod inline;
pub(crate) mod link;
pub(crate) mod marks;
pub(crate) mod relay;
pub(crate) mod scan;
pub(crate) mod stamp;
