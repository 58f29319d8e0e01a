//! The compile time of the derive, compared with serde's two derives on the same structs: `cargo
//! run --release --manifest-path benches/Cargo.toml --bin derive-cost`.
//!
//! The program writes two crates, each with 100 structs of 8 fields. One crate derives `AccpFrame`
//! with a registry made for it. The other derives `Serialize` and `Deserialize`. Every struct is
//! encoded and decoded once, so that generic code is counted too. After the dependencies are built,
//! the crates take turns. The least time of each counts, because the machine disturbed it least.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs, io};

const STRUCTS: usize = 100;
const ROUNDS: usize = 7;
const TYPES: [(&str, &str); 8] = [
    ("string", "String"),
    ("text", "String"),
    ("integer", "i64"),
    ("boolean", "bool"),
    ("number", "f64"),
    ("[string]", "Vec<String>"),
    ("string", "Option<String>"),
    ("integer", "Option<i64>"),
];

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()?;
    let target = env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    let folder = target.join("derive-cost");
    let (ours, serde) = (folder.join("ours"), folder.join("serde"));
    write_ours(&ours, &root)?;
    write_serde(&serde)?;
    println!(
        "{STRUCTS} structs of {} fields, least of {ROUNDS} rounds",
        TYPES.len()
    );
    for (name, arguments) in [
        ("check", &["check"][..]),
        ("build", &["build"][..]),
        ("build --release", &["build", "--release"][..]),
    ] {
        let mut least = [Duration::MAX; 2];
        for round in 0..=ROUNDS {
            for (krate, least) in [&ours, &serde].into_iter().zip(&mut least) {
                let time = compile(krate, arguments, &folder.join("target"))?;
                // The first round builds the dependencies.
                if round > 0 {
                    *least = time.min(*least);
                }
            }
        }
        let [ours, serde] = least.map(|time| time.as_secs_f64());
        println!(
            "  {name:<16} AccpFrame {ours:>6.2} s   serde {serde:>6.2} s   {:.2} x",
            ours / serde
        );
    }
    Ok(())
}

fn compile(krate: &Path, arguments: &[&str], target: &Path) -> io::Result<Duration> {
    let source = krate.join("src/lib.rs");
    let text = fs::read_to_string(&source)?;
    fs::write(&source, text)?;
    let start = Instant::now();
    let status = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()))
        .args(arguments)
        .args(["--quiet", "--offline"])
        .current_dir(krate)
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_INCREMENTAL", "0")
        .status()?;
    if status.success() {
        Ok(start.elapsed())
    } else {
        Err(io::Error::other("the crate does not compile"))
    }
}

fn write_crate(folder: &Path, dependencies: &str, source: &str) -> io::Result<()> {
    fs::create_dir_all(folder.join("src"))?;
    let manifest = format!(
        "[package]\nname = \"{}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies]\n{dependencies}",
        folder.file_name().unwrap_or_default().to_string_lossy(),
    );
    fs::write(folder.join("Cargo.toml"), manifest)?;
    // The lock file of the bench fixes the versions, so that cargo looks up nothing.
    let lock = folder.join("Cargo.lock");
    if !lock.exists() {
        fs::copy(
            Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.lock"),
            lock,
        )?;
    }
    fs::write(folder.join("src/lib.rs"), source)
}

fn write_ours(folder: &Path, root: &Path) -> io::Result<()> {
    let mut schemas = Vec::new();
    let mut source = String::from("use accp_runtime::{AccpFrame, AgentId, Envelope, Typed};\n");
    let mut uses = String::new();
    for at in 0..STRUCTS {
        let fields: Vec<String> = (0..TYPES.len()).map(|n| format!("\"field_{n}\"")).collect();
        let types: Vec<String> = TYPES
            .iter()
            .enumerate()
            .map(|(n, (ty, _))| format!("\"field_{n}\": \"{ty}\""))
            .collect();
        schemas.push(format!(
            "\"schema_{at}\": {{ \"code\": \"S{at}\", \"version\": 1, \"fields\": [{}], \"types\": {{ {} }} }}",
            fields.join(", "),
            types.join(", "),
        ));
        let _ = write!(
            source,
            "\n#[derive(AccpFrame)]\n#[accp(schema = \"S{at}\", intent = \"req\", operation = \"plan\", \
             registry = \"registry.json\")]\npub struct S{at} {{\n{}}}\n",
            members(),
        );
        let _ = writeln!(
            uses,
            "    let s{at} = Typed::<S{at}>::decode(text).ok()?.frame;\n    \
             text_of += &Typed::new(AgentId::new(\"a\").ok()?, s{at}, Envelope::default()).encode().ok()?;",
        );
    }
    let _ = write!(
        source,
        "\npub fn uses(text: &str) -> Option<String> {{\n    let mut text_of = String::new();\n{uses}    Some(text_of)\n}}\n"
    );
    let dependencies = format!(
        "accp-runtime = {{ path = {:?} }}\n",
        root.join("accp-runtime")
    );
    write_crate(folder, &dependencies, &source)?;
    fs::write(
        folder.join("registry.json"),
        format!("{{ \"schemas\": {{ {} }} }}", schemas.join(",\n")),
    )
}

fn write_serde(folder: &Path) -> io::Result<()> {
    let mut source = String::from("use serde::{Deserialize, Serialize};\n");
    let mut uses = String::new();
    for at in 0..STRUCTS {
        let _ = write!(
            source,
            "\n#[derive(Serialize, Deserialize)]\npub struct S{at} {{\n{}}}\n",
            members()
        );
        let _ = writeln!(
            uses,
            "    let s{at}: S{at} = serde_json::from_str(text).ok()?;\n    \
             text_of += &serde_json::to_string(&s{at}).ok()?;",
        );
    }
    let _ = write!(
        source,
        "\npub fn uses(text: &str) -> Option<String> {{\n    let mut text_of = String::new();\n{uses}    Some(text_of)\n}}\n"
    );
    let dependencies = "serde = { version = \"1\", features = [\"derive\"] }\nserde_json = \"1\"\n";
    write_crate(folder, dependencies, &source)
}

fn members() -> String {
    TYPES
        .iter()
        .enumerate()
        .fold(String::new(), |mut out, (n, (_, ty))| {
            let _ = writeln!(out, "    pub field_{n}: {ty},");
            out
        })
}
