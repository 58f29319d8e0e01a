//! Writes the crates that are compiled, one for each peer and shape. A peer is a library that the bench compares.

use std::fmt::{self, Write as _};
use std::path::Path;
use std::{fs, io};

/// The types of a crate.
pub enum Shape {
    /// This many structs of 8 fields.
    Structs(usize),
    /// One struct with this many fields.
    Fields(usize),
    /// One enum with this many names, and a struct with a field of this enum.
    Names(usize),
}

impl Shape {
    pub fn folder(&self) -> String {
        match self {
            Self::Structs(count) => format!("structs_{count}"),
            Self::Fields(count) => format!("fields_{count}"),
            Self::Names(count) => format!("names_{count}"),
        }
    }

    /// Returns the number of structs.
    fn structs(&self) -> usize {
        match self {
            Self::Structs(count) => *count,
            Self::Fields(_) | Self::Names(_) => 1,
        }
    }

    fn names(&self) -> Vec<String> {
        match self {
            Self::Structs(_) | Self::Fields(_) => Vec::new(),
            Self::Names(count) => (0..*count).map(letters).collect(),
        }
    }

    /// Returns the fields of each struct.
    fn fields(&self) -> Vec<&'static Field> {
        match self {
            Self::Structs(_) => FIELDS.iter().collect(),
            Self::Fields(count) => FIELDS.iter().cycle().take(*count).collect(),
            Self::Names(_) => vec![&Field("enum", "State", "State")],
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Structs(count) => write!(f, "{count} structs of {} fields", FIELDS.len()),
            Self::Fields(count) => write!(f, "One struct of {count} fields"),
            Self::Names(count) => write!(f, "One enum of {count} names"),
        }
    }
}

/// The type of a field as written in a registry, in Rust, and in a `.proto` file.
struct Field(&'static str, &'static str, &'static str);

const FIELDS: [Field; 8] = [
    Field("string", "String", "string"),
    Field("text", "String", "string"),
    Field("integer", "i64", "int64"),
    Field("boolean", "bool", "bool"),
    Field("number", "f64", "double"),
    Field("[string]", "Vec<String>", "repeated string"),
    Field("string", "Option<String>", "optional string"),
    Field("integer", "Option<i64>", "optional int64"),
];

pub struct Peer {
    pub name: &'static str,
    pub is_ours: bool,
    /// The name of the peer in `--peers` and in the names of its crates.
    pub krate: &'static str,
    dependencies: &'static str,
    /// Returns the text of the crate.
    source: fn(&Shape) -> String,
}

/// The peer that all others are compared with.
pub const SERDE: &str = "serde";

/// `ROOT` stands for the folder of the project.
const ACCP: &str = "accp-runtime = { path = \"ROOT/accp-runtime\", default-features = false, \
                    features = [\"std\", \"derive\"] }";
const BUFFA: &str = "buffa = \"=0.9.2\"";

pub const PEERS: [Peer; 6] = [
    Peer {
        name: "serde",
        is_ours: false,
        krate: SERDE,
        dependencies: "serde = { version = \"1\", features = [\"derive\"] }\nserde_json = \"1\"",
        source: serde,
    },
    Peer {
        name: "`AccpFrame`, written by hand",
        is_ours: true,
        krate: "accp",
        dependencies: ACCP,
        source: accp,
    },
    Peer {
        name: "`AccpFrame`, generated",
        is_ours: true,
        krate: "accp_generated",
        dependencies: ACCP,
        source: accp_generated,
    },
    Peer {
        name: "prost",
        is_ours: false,
        krate: "prost",
        dependencies: "prost = \"0.14\"",
        source: prost,
    },
    Peer {
        name: "buffa",
        is_ours: false,
        krate: "buffa",
        dependencies: BUFFA,
        source: buffa,
    },
    Peer {
        name: "buffa without its views",
        is_ours: false,
        krate: "buffa_owned",
        dependencies: BUFFA,
        source: buffa,
    },
];

impl Peer {
    pub fn crate_name(&self, shape: &Shape) -> String {
        format!("{}_{}", self.krate, shape.folder())
    }
}

/// Writes a workspace: an empty crate for each peer and shape, and the crate that runs the generators.
pub fn write_workspace(folder: &Path, root: &Path, shapes: &[Shape]) -> io::Result<()> {
    let mut members = vec!["generate".to_owned()];
    for shape in shapes {
        let input = folder.join(shape.folder());
        fs::create_dir_all(&input)?;
        fs::write(input.join("registry.json"), registry(shape))?;
        fs::write(input.join("cost.proto"), proto(shape))?;
        for peer in &PEERS {
            let name = peer.crate_name(shape);
            let krate = folder.join(&name);
            let dependencies = peer.dependencies.replace("ROOT", &root.to_string_lossy());
            write_crate(&krate, &name, &dependencies, "lib.rs", "")?;
            if peer.is_ours {
                fs::write(krate.join("registry.json"), registry(shape))?;
            }
            members.push(name);
        }
    }
    let dependencies = format!(
        "accp-build = {{ path = {:?} }}\nbuffa-build = \"=0.9.2\"\nprost = \"0.14\"\n\
         prost-build = \"0.14\"\nprotox = \"0.10\"",
        root.join("accp-derive/build"),
    );
    let source = include_str!("generate.rs");
    write_crate(
        &folder.join("generate"),
        "generate",
        &dependencies,
        "main.rs",
        source,
    )?;
    fs::write(
        folder.join("Cargo.toml"),
        format!("[workspace]\nresolver = \"3\"\nmembers = {members:?}\n"),
    )?;
    // The lock file of the bench fixes the versions of the crates that both workspaces use.
    let lock = folder.join("Cargo.lock");
    if !lock.exists() {
        fs::copy(
            Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.lock"),
            lock,
        )?;
    }
    Ok(())
}

/// Writes the source of each peer's crate, except the files that the generators write.
pub fn write_sources(folder: &Path, shape: &Shape) -> io::Result<()> {
    PEERS.iter().try_for_each(|peer| {
        let source = folder.join(peer.crate_name(shape)).join("src/lib.rs");
        fs::write(source, (peer.source)(shape))
    })
}

fn write_crate(
    folder: &Path,
    name: &str,
    dependencies: &str,
    file: &str,
    source: &str,
) -> io::Result<()> {
    fs::create_dir_all(folder.join("src"))?;
    let manifest = format!(
        "[package]\nname = {name:?}\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [dependencies]\n{dependencies}\n"
    );
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::write(folder.join("src").join(file), source)
}

/// Returns three letters for a number. No generator changes the spelling of such a name.
fn letters(at: usize) -> String {
    [at / 676 % 26, at / 26 % 26, at % 26]
        .map(|digit| char::from(b'a' + digit as u8))
        .iter()
        .collect()
}

fn pascal(name: &str) -> String {
    name[..1].to_uppercase() + &name[1..]
}

fn registry(shape: &Shape) -> String {
    let states = format!("enum({})", shape.names().join(","));
    let fields: Vec<String> = (0..shape.fields().len())
        .map(|at| format!("field_{at}"))
        .collect();
    let types: Vec<String> = shape
        .fields()
        .into_iter()
        .zip(&fields)
        .map(|(Field(ty, ..), field)| format!("{field:?}: {:?}", ty.replace("enum", &states)))
        .collect();
    let required = shape.fields().into_iter().zip(&fields);
    let required = required.filter(|(Field(_, rust, _), _)| !rust.starts_with("Option"));
    let required: Vec<&String> = required.map(|(_, field)| field).collect();
    let schemas: Vec<String> = (0..shape.structs())
        .map(|at| {
            format!(
                "\"schema_{at}\": {{ \"code\": \"S{at}\", \"version\": 1, \"fields\": {fields:?}, \
                 \"types\": {{ {} }}, \"required\": {required:?}, \
                 \"frames\": [{{ \"intent\": \"req\", \"operation\": \"s{at}\" }}] }}",
                types.join(", "),
            )
        })
        .collect();
    format!("{{ \"schemas\": {{ {} }} }}", schemas.join(",\n"))
}

fn proto(shape: &Shape) -> String {
    let mut text = String::from("syntax = \"proto3\";\npackage cost;\n");
    for (at, name) in shape.names().iter().enumerate() {
        let start = if at == 0 { "enum State {\n" } else { "" };
        let _ = writeln!(text, "{start}  STATE_{} = {at};", name.to_uppercase());
    }
    if !shape.names().is_empty() {
        text.push_str("}\n");
    }
    for at in 0..shape.structs() {
        let _ = writeln!(text, "message S{at} {{");
        for (at, Field(_, _, ty)) in shape.fields().iter().enumerate() {
            let _ = writeln!(text, "  {ty} field_{at} = {};", at + 1);
        }
        text.push_str("}\n");
    }
    text
}

fn serde(shape: &Shape) -> String {
    let derive = |_| "#[derive(Serialize, Deserialize, Debug, Clone, PartialEq)]\n".to_owned();
    let mut source = String::from("use serde::{Deserialize, Serialize};\n\n");
    source += &types(
        shape,
        "#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq)]\n\
         #[serde(rename_all = \"snake_case\")]\n",
        derive,
    );
    source
        + &uses(shape, |at| {
            format!(
                "pub fn s{at}(text: &str) -> Option<String> {{\n    \
                 let s{at}: S{at} = serde_json::from_str(text).ok()?;\n    \
                 serde_json::to_string(&s{at}).ok()\n}}\n"
            )
        })
}

fn accp(shape: &Shape) -> String {
    let derive = |at| {
        format!(
            "#[derive(AccpFrame, Debug, Clone, PartialEq)]\n#[accp(schema = \"S{at}\", \
             intent = \"req\", operation = \"s{at}\", registry = \"registry.json\")]\n"
        )
    };
    let mut source = String::from("use accp_runtime::{AccpFrame, AgentId, Envelope, Typed};\n\n");
    source += &types(
        shape,
        "#[derive(AccpFrame, Debug, Clone, Copy, PartialEq)]\n",
        derive,
    );
    source + &uses(shape, |at| accp_use(at, &format!("S{at}")))
}

fn accp_generated(shape: &Shape) -> String {
    String::from("use accp_runtime::{AgentId, Envelope, Typed};\n\npub mod accp;\n\n")
        + &uses(shape, |at| accp_use(at, &format!("accp::S{at}Req")))
}

fn accp_use(at: usize, name: &str) -> String {
    format!(
        "pub fn s{at}(text: &str) -> Option<String> {{\n    \
         let frame = Typed::<{name}>::decode(text).ok()?.frame;\n    \
         Typed::new(AgentId::new(\"a\").ok()?, frame, Envelope::default()).encode().ok()\n}}\n"
    )
}

fn prost(shape: &Shape) -> String {
    let source = "pub mod cost {\n    include!(\"cost.rs\");\n}\nuse prost::Message;\n\n";
    source.to_owned() + &uses(shape, |at| message_use(at, "decode"))
}

fn buffa(shape: &Shape) -> String {
    let source = "include!(\"buffa.rs\");\nuse buffa::Message;\n\n";
    source.to_owned() + &uses(shape, |at| message_use(at, "decode_from_slice"))
}

fn message_use(at: usize, decode: &str) -> String {
    format!(
        "pub fn s{at}(bytes: &[u8]) -> Option<Vec<u8>> {{\n    \
         Some(cost::S{at}::{decode}(bytes).ok()?.encode_to_vec())\n}}\n"
    )
}

/// Returns one function for each struct, as source text.
fn uses(shape: &Shape, of: impl Fn(usize) -> String) -> String {
    (0..shape.structs()).map(of).collect()
}

/// Returns the source of the types, for the peers without a generator.
fn types(shape: &Shape, on_enum: &str, on_struct: impl Fn(usize) -> String) -> String {
    let mut source = String::new();
    if !shape.names().is_empty() {
        let _ = writeln!(source, "{on_enum}pub enum State {{");
        for name in shape.names() {
            let _ = writeln!(source, "    {},", pascal(&name));
        }
        source.push_str("}\n\n");
    }
    for at in 0..shape.structs() {
        let _ = writeln!(source, "{}pub struct S{at} {{", on_struct(at));
        for (at, Field(_, ty, _)) in shape.fields().iter().enumerate() {
            let _ = writeln!(source, "    pub field_{at}: {ty},");
        }
        source.push_str("}\n\n");
    }
    source
}
