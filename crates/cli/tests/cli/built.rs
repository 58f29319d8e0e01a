//! Tests that Cargo builds the crates and the files that the command writes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::cli::{Folder, Run, Words, command, finish, workspace};

/// A crate in a folder. All tests share the target folder of Cargo, so ACCP is built only once.
struct Crate {
    folder: Folder,
    name: &'static str,
}

impl Crate {
    fn new(folder: Folder, name: &'static str) -> Self {
        // The lock file fixes the versions, so that Cargo need not look up any.
        fs::copy(
            workspace().join("Cargo.lock"),
            folder.path(name).join("Cargo.lock"),
        )
        .unwrap();
        Self { folder, name }
    }

    /// Makes a crate by `accp new`.
    fn made(name: &'static str) -> Self {
        let folder = Folder::with(&[]);
        let checkout = workspace();
        let new = ["new", name, "--checkout", checkout.to_str().unwrap()];
        folder.run(new, "").code_is(0);
        Self::new(folder, name)
    }

    fn path(&self, file: &str) -> PathBuf {
        self.folder.path(self.name).join(file)
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.path(file), text).unwrap();
    }

    /// Runs Cargo, which must succeed. The settings are those of the workspace, so that Cargo can reuse what the
    /// first command of the README has built.
    fn cargo(&self, args: impl Words) -> Run {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        cargo
            .args(args.words())
            .args(["--offline", "--profile", "dev", "--config"])
            .arg(workspace().join(".cargo/config.toml"))
            .current_dir(self.path(""))
            .env("CARGO_INCREMENTAL", "0")
            .env("CARGO_TARGET_DIR", target);
        let run = finish(&mut cargo, b"");
        run.code_is(0);
        run
    }

    /// Builds the crate. Returns false if the crate was already up to date.
    fn builds(&self) -> bool {
        let said = self.cargo("build --verbose").stderr;
        let [fresh, built] = ["Fresh", "Compiling"]
            .map(|word| said.contains(&format!("{word} {} v0.1.0", self.name)));
        assert!(fresh != built, "{said}");
        built
    }
}

#[test]
fn a_new_crate_passes_its_tests() {
    let made = Crate::made("our-frames");
    let lint = "registry lint our-frames/registry";
    made.folder.run(lint, "").code_is(0);
    made.cargo("test --quiet").stdout_has("2 passed");
}

/// Cargo builds again when a file of a registry changes, appears or disappears. The registry may be a folder or one
/// file.
#[test]
fn a_change_of_the_registry_builds_again() {
    let made = Crate::made("watched");
    let registry = fs::read_to_string(made.path("registry/refund.json")).unwrap();
    // This test is about the build script and not about the types.
    made.write("src/lib.rs", "");
    assert!(made.builds());
    assert!(!made.builds());
    let added = registry.replace("refund", "visit").replace("RF", "VS");
    made.write("registry/visit.json", &added);
    assert!(made.builds(), "a registry that is new");
    fs::remove_file(made.path("registry/visit.json")).unwrap();
    assert!(made.builds(), "a registry that is gone");
    made.write("registry/notes.txt", "notes");
    assert!(made.builds(), "Cargo does not tell files of a folder apart");
    assert!(!made.builds());

    let script = fs::read_to_string(made.path("build.rs")).unwrap();
    let script = script.replace("\"registry\"", "\"registry/refund.json\"");
    made.write("build.rs", &script);
    assert!(made.builds());
    made.write("registry/notes.txt", "more notes");
    made.write("registry/visit.json", &added);
    assert!(!made.builds(), "files that are not named");
    made.write("registry/refund.json", &registry.replace("reason", "cause"));
    assert!(made.builds(), "the file that is named");
}

/// The derive finds the registry, regardless of the folder in which the command was run and of the paths that it got.
#[test]
fn a_generated_file_builds_in_its_crate() {
    const REGISTRY: &str = r#"{ "schemas": { "visit": { "code": "VS", "fields": ["place"],
        "frames": [{ "intent": "req", "operation": "visit" }] } } }"#;
    let folder = Folder::with(&[("Cargo.toml", "[workspace]\nmembers = [\"app\"]\n")]);
    for name in ["app/reg", "app/src/deep", "shared/reg"] {
        fs::create_dir_all(folder.path(name)).unwrap();
    }
    let runtime = workspace().join("accp-runtime");
    let manifest = format!(
        "[package]\nname = \"app\"\nedition = \"2024\"\n[dependencies]\naccp-runtime = {{ path = {runtime:?} }}\n"
    );
    for (name, text) in [
        ("app/Cargo.toml", manifest.as_str()),
        ("app/reg/visit.json", REGISTRY),
        ("shared/reg/visit.json", REGISTRY),
    ] {
        fs::write(folder.path(name), text).unwrap();
    }
    #[cfg(unix)]
    for (at, to) in [("app/link", "../shared/reg"), ("alias", "app")] {
        std::os::unix::fs::symlink(to, folder.path(at)).unwrap();
    }

    let [reg, absolute] = ["app/reg", "app/src/absolute.rs"].map(|name| {
        let path = folder.path(name);
        path.to_str().unwrap().to_owned()
    });
    let own = "#[accp(registry = \"reg\")]";
    let shared = "#[accp(registry = \"../shared/reg\")]";
    let here = format!("#[accp(registry = {reg:?})]");
    // Each run names the folder of the command, the registry, the file, and the attribute in the file.
    let mut runs = vec![
        ("", "app/reg", "app/src/lib.rs", own),
        ("", "app/reg/", "app/src/deep/inside.rs", own),
        ("", "shared/reg", "app/src/deep/outside.rs", shared),
        ("shared", "../app/reg", "../app/src/beside.rs", own),
        ("app", "reg", "src/within.rs", own),
        ("app/src", "../reg", "below.rs", own),
        ("", &reg, &absolute, &here),
    ];
    if cfg!(unix) {
        let link = "#[accp(registry = \"link\")]";
        runs.push(("", "app/link", "app/src/link.rs", link));
        runs.push(("", "alias/reg", "alias/src/alias.rs", own));
        runs.push(("alias", "../shared/reg", "src/deep/alias.rs", shared));
    }
    let told = "app/reg --registry-path ../shared/reg -o app/src/told.rs";
    folder.run(("generate", told), "").code_is(0);
    let mut modules = vec!["pub mod told;\n".to_owned()];
    for (number, (at, registry, output, said)) in runs.into_iter().enumerate() {
        let mut generate = command();
        generate.args(["generate", registry, "-o", output]);
        finish(generate.current_dir(folder.path(at)), b"").code_is(0);
        let file = folder.path(at).join(output);
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains(said), "{output}: {text}");
        if !output.ends_with("lib.rs") {
            modules.push(format!("#[path = {file:?}]\npub mod m{number};\n"));
        }
    }
    let library = folder.path("app/src/lib.rs");
    let text = fs::read_to_string(&library).unwrap() + &modules.concat();
    fs::write(&library, text).unwrap();
    // The lock file must be at the top of the workspace.
    let app = Crate::new(folder, "");
    app.cargo("build");
}
