# The commands of a contributor; CONTRIBUTING.md says when to use which. `just` alone lists them.

_list:
    @just --list --unsorted

# Test one crate, such as `just test accp-frame`; more arguments go to cargo
test CRATE *ARGS:
    cargo test --package {{ CRATE }} {{ ARGS }}

# Format, and lint as CI does
lint:
    cargo fmt --all
    cargo clippy --workspace --all-targets -- -D warnings

# Run sessions over a link that fails, for a second; `just simulate --seed 4711 --script` shows a seed
simulate *ARGS:
    cargo run --quiet --profile simulate --package accp-tests --example simulate -- {{ if ARGS == "" { "--seconds 1" } else { ARGS } }}

# All that CI checks; `just ci quick` leaves out the long parts
ci *PART:
    .ci/run {{ PART }}

# Make the book from docs
book:
    mdbook build docs

# Make generated files, goldens and snapshots anew
bless:
    .ci/bless

# Measure speed; `just bench tokens` runs one bench
bench *BENCH:
    cargo bench --manifest-path benches/Cargo.toml {{ if BENCH == "" { "" } else { "--bench " + BENCH } }}
