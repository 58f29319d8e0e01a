//! Compiles the shim with the header of the SQLite that is linked.

fn main() {
    println!("cargo:rerun-if-changed=src/shim.c");
    let include = std::env::var("DEP_SQLITE3_INCLUDE").expect("libsqlite3-sys says where it is");
    cc::Build::new()
        .file("src/shim.c")
        .include(include)
        .compile("shim");
}
