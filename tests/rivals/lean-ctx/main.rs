//! The command `lean-ctx`, with dependencies that can be had: the lock file of the crate names a
//! version that its registry does not have.

fn main() {
    lean_ctx::core::memory_guard::route_tree_sitter_to_jemalloc();
    lean_ctx::cli::dispatch::run();
}
