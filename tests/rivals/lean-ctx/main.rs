//! The command `lean-ctx`, built with other versions of its dependencies, because its own lock file names a version
//! that the registry does not have.

fn main() {
    lean_ctx::core::memory_guard::route_tree_sitter_to_jemalloc();
    lean_ctx::cli::dispatch::run();
}
