//! Builds the codec without the standard library: `cargo build --manifest-path
//! tests/no_std/Cargo.toml`.
#![no_std]

extern crate alloc;

use accp_runtime::{DynamicFrame, Frame, Registry};

#[global_allocator]
static ALLOCATOR: linked_list_allocator::LockedHeap = linked_list_allocator::LockedHeap::empty();

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// Decodes a frame and encodes it again.
pub fn again(text: &str) -> Option<alloc::string::String> {
    Frame::parse(text).ok()?;
    let registry = Registry::standard();
    DynamicFrame::decode(text, &registry)
        .ok()?
        .encode(&registry)
        .ok()
}
