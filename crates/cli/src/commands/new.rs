//! `accp new`: makes a crate that holds frames.

use std::fs;
use std::path::{Path, PathBuf};

use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output;

/// The files of a crate, each with its text.
const FILES: [(&str, &str); 7] = [
    ("Cargo.toml", include_str!("new/Cargo.toml.in")),
    ("build.rs", include_str!("new/build.rs.in")),
    ("src/lib.rs", include_str!("new/lib.rs.in")),
    ("registry/refund.json", include_str!("new/registry.json.in")),
    ("tests/frames.rs", include_str!("new/test.rs.in")),
    (".github/workflows/ci.yml", include_str!("new/ci.yml.in")),
    (".gitignore", "/target\n"),
];

/// Make a crate that holds the frames of your agents: a registry, a build script, a test, lines for CI
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp new frames
  accp new crates/frames --checkout ../accp")]
pub(crate) struct Args {
    /// The folder to make; its last part is the name of the crate
    folder: PathBuf,
    /// A checkout of ACCP, whose crates the new crate uses by their paths
    #[arg(long, value_name = "DIR")]
    checkout: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let folder = &args.folder;
    let name = folder.file_name().and_then(|name| name.to_str());
    let Some(name) = name.filter(|name| is_name(name)) else {
        return Err(Failure::Misuse(format!(
            "{} does not end with the name of a crate: a small letter, then small letters, digits, `-` and `_`",
            folder.display()
        )));
    };
    if !is_free(&name.replace('-', "_")) {
        return Err(Failure::Misuse(format!(
            "{} ends with a word that Rust, Cargo or ACCP keeps for itself; give the crate another name",
            folder.display()
        )));
    }
    let is_taken =
        fs::read_dir(folder).map_or_else(|_| folder.exists(), |mut inside| inside.next().is_some());
    if is_taken {
        return Err(Failure::Misuse(format!(
            "{} is there already; name a folder that is new or empty",
            folder.display()
        )));
    }
    let dependency = |folder: &str| match &args.checkout {
        Some(checkout) => {
            let path = checkout.join(folder);
            let path = fs::canonicalize(&path).map_err(Failure::at(&path))?;
            Ok(format!("{{ path = {:?} }}", path.display().to_string()))
        }
        None => Ok::<_, Failure>(format!("{:?}", env!("CARGO_PKG_VERSION"))),
    };
    let (runtime, build) = (
        dependency("accp-runtime")?,
        dependency("accp-derive/build")?,
    );
    let missing = folder.ancestors().take_while(|above| !above.exists());
    let missing: Vec<&Path> = missing.collect();
    let made = FILES.iter().try_for_each(|(file, text)| {
        let text = text
            .replace("NAME", name)
            .replace("CRATE", &name.replace('-', "_"))
            .replace("RUNTIME", &runtime)
            .replace("BUILD", &build);
        write(&folder.join(file), &text)
    });
    if let Err(failure) = made {
        take_back(folder, &missing);
        return Err(failure);
    }
    output::note(format_args!(
        "{} is made; `cargo test` in it makes the types of registry/refund.json and tries them",
        folder.display()
    ));
    Ok(Verdict::Fine)
}

/// Returns whether a name has the form of the name of a crate.
fn is_name(name: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(is_inner)
}

/// Returns whether a word is not reserved by Rust, by Cargo or by ACCP.
fn is_free(word: &str) -> bool {
    const KEPT: &str = "as async await break const continue crate dyn else enum extern false fn for \
        gen if impl in let loop match mod move mut pub ref return self static struct super test trait \
        true type unsafe use where while core std alloc accp_runtime accp_build";
    !KEPT.split(' ').any(|kept| kept == word)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(Failure::at(folder))?;
    }
    fs::write(path, text).map_err(Failure::at(path))
}

/// Removes what a command has made that failed: the files in the folder, and these folders that it has made.
fn take_back(folder: &Path, made: &[&Path]) {
    // The user reads why the command failed. What cannot be removed either would not be news.
    for (file, _) in FILES {
        let file = folder.join(file);
        let _ = fs::remove_file(&file);
        let above = file.ancestors().skip(1);
        for above in above.take_while(|above| *above != folder) {
            let _ = fs::remove_dir(above);
        }
    }
    for folder in made {
        let _ = fs::remove_dir(folder);
    }
}
