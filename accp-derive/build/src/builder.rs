//! The builder for build scripts.

use std::env;
use std::path::{Path, PathBuf};

use accp_registry::{Registry, registry_files};

use crate::error::Error;
use crate::file::write;
use crate::generate::generate;
use crate::options::Options;
use crate::slashed::slashed;

/// Generates Rust from a registry on disk.
///
/// In `build.rs`:
///
/// ```no_run
/// fn main() -> Result<(), accp_build::Error> {
///     accp_build::Builder::new().registry("registry").compile()
/// }
/// ```
///
/// and in the crate, which depends on `accp-runtime`:
///
/// ```ignore
/// /// The frames of our agents.
/// pub mod frames {
///     include!(concat!(env!("OUT_DIR"), "/accp.rs"));
/// }
/// ```
///
/// [`include_file`](crate::include_file) takes several builders, one for each registry. `accp new frames` makes a
/// crate that holds only frames, such as `examples/frames`. `examples/shift` is a second crate with the same
/// registry. With [`extern_path`](Self::extern_path), it uses the types of the first crate.
#[derive(Debug, Clone)]
pub struct Builder {
    registry: Option<PathBuf>,
    registry_path: Option<PathBuf>,
    options: Options,
    out_dir: Option<PathBuf>,
    out_file: PathBuf,
}

impl Builder {
    /// Returns a builder that writes `accp.rs`.
    pub fn new() -> Self {
        Self {
            registry: None,
            registry_path: None,
            options: Options::default(),
            out_dir: None,
            out_file: PathBuf::from("accp.rs"),
        }
    }

    /// Sets the registry: a file, or a folder whose `*.json` files are all read. The path is
    /// relative to the folder of `Cargo.toml`, where Cargo runs a build script.
    ///
    /// Cargo watches the file, or every file below the folder, so that it notices a new registry. A change of any
    /// other file in the folder compiles the crate again, so keep other files elsewhere.
    pub fn registry(mut self, path: impl Into<PathBuf>) -> Self {
        self.registry = Some(path.into());
        self
    }

    /// Sets whether to generate the standard profiles too; see [`Options::standard_profiles`].
    pub fn standard_profiles(mut self, yes: bool) -> Self {
        self.options.standard_profiles = yes;
        self
    }

    /// Sets the path of the runtime in the generated text. The default is `accp_runtime`; the crate
    /// may have the runtime under another name.
    pub fn runtime(mut self, path: impl Into<String>) -> Self {
        self.options.runtime = path.into();
        self
    }

    /// Sets whether the generated text works without `std`; see [`Options::no_std`].
    pub fn no_std(mut self, yes: bool) -> Self {
        self.options.no_std = yes;
        self
    }

    /// Sets whether the frames are written without the code of their schema; see [`Options::schemaless`].
    pub fn schemaless(mut self, yes: bool) -> Self {
        self.options.schemaless = yes;
        self
    }

    /// Sets whether each enum takes the values that the registry does not list; see [`Options::open_enums`].
    pub fn open_enums(mut self, yes: bool) -> Self {
        self.options.open_enums = yes;
        self
    }

    /// Sets whether the types own their texts and have no lifetime; see [`Options::owned`].
    pub fn owned(mut self, yes: bool) -> Self {
        self.options.owned = yes;
        self
    }

    /// Sets the name of the enum over the frames of all schemas. The default is `AnyFrame`.
    pub fn any_frame(mut self, name: impl Into<String>) -> Self {
        self.options.any_frame = Some(name.into());
        self
    }

    /// Adds an attribute to types. The path is `.` for all types, the name of a type as it stands in the generated
    /// text, or the name or the code of a schema for all types of that schema. If a type already has a derive, the
    /// derive is not added again.
    ///
    /// ```
    /// # fn main() -> Result<(), accp_build::Error> {
    /// let text = accp_build::Builder::new()
    ///     .standard_profiles(true)
    ///     .owned(true)
    ///     .type_attribute(".", "#[derive(serde::Serialize, serde::Deserialize)]")
    ///     .type_attribute("ScheduleReq", "#[derive(Eq)]")
    ///     .field_attribute("ScheduleReq.deps", "#[serde(default)]")
    ///     .generate()?;
    /// assert!(text.contains("    #[serde(default)]\n"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`generate`](Self::generate) refuses a text that is not an attribute, and a path that names no type.
    pub fn type_attribute(mut self, path: impl Into<String>, attribute: impl Into<String>) -> Self {
        let added = (path.into(), attribute.into());
        self.options.type_attributes.push(added);
        self
    }

    /// Adds an attribute to fields or variants. The path is `.` for all fields of structs, or `.deps` for all fields
    /// of that name. It may be a path of [`type_attribute`](Self::type_attribute) for all fields of these types, or
    /// such a path with a field, as in `ScheduleReq.deps` or `TA.deps`. The path names a field by its Rust name or by
    /// its name in the registry. Variants need the name of their enum: `SignalTrend`, `SignalTrend.Up`.
    ///
    /// # Errors
    /// [`generate`](Self::generate) refuses a text that is not an attribute, and a path that names no field.
    pub fn field_attribute(
        mut self,
        path: impl Into<String>,
        attribute: impl Into<String>,
    ) -> Self {
        let added = (path.into(), attribute.into());
        self.options.field_attributes.push(added);
        self
    }

    /// Gives fields your own type. The path is `.amount` for every field of that name, or a path of
    /// [`type_attribute`](Self::type_attribute) and a field, as in `TA.amount`. An optional field holds the type
    /// inside an `Option`. The type derives `AccpFrame`, or [`with`](Self::with) names a module that converts it. If
    /// several paths name a field, the last one counts: `.amount`, and then `TA.amount` for an exception.
    ///
    /// ```
    /// # fn main() -> Result<(), accp_build::Error> {
    /// let text = accp_build::Builder::new()
    ///     .standard_profiles(true)
    ///     .field_type(".deadline", "crate::Day")
    ///     .with(".deadline", "crate::day")
    ///     .generate()?;
    /// assert!(text.contains("    #[accp(with = crate::day)]\n    pub deadline: Option<crate::Day>,\n"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`generate`](Self::generate) refuses a text that is not a type, and a path that names no field.
    pub fn field_type(mut self, path: impl Into<String>, rust: impl Into<String>) -> Self {
        self.options.field_types.push((path.into(), rust.into()));
        self
    }

    /// Lets your own module convert fields, with its functions `encode` and `decode`. The path has the form that
    /// [`field_type`](Self::field_type) describes. This method does the same as the attribute
    /// `#[accp(with = module)]`.
    ///
    /// # Errors
    /// As [`field_attribute`](Self::field_attribute), and for a text that is not a path.
    pub fn with(self, path: impl Into<String>, module: impl AsRef<str>) -> Self {
        let ours = accp_registry::ACCP.rust.attribute;
        let attribute = format!("#[{ours}(with = {})]", module.as_ref());
        self.field_attribute(path, attribute)
    }

    /// Replaces a generated type by your own type. The path is the name that the generated type would have, or the
    /// name or the code of a schema, for the type of its values. The generated text leaves the replaced type out, and
    /// uses your type as you write it here, as in `crate::Lab` or `crate::Lab<'a>`. Your type must derive
    /// `AccpFrame`, and every trait that the types that contain it derive.
    ///
    /// # Errors
    /// [`generate`](Self::generate) refuses a text that is not a type, and a path that names no type or several
    /// types.
    pub fn replace(mut self, path: impl Into<String>, rust: impl Into<String>) -> Self {
        self.options.replaced.push((path.into(), rust.into()));
        self
    }

    /// Says that another crate has generated a type, with the same registry:
    /// `("ScheduleReq", "::frames::ScheduleReq")`. A module stands for all types of a schema: `("TA", "::frames")`.
    /// The generated text leaves these types out, and its other types hold the types of that crate. So two crates
    /// with one registry share one set of types. If the left out types would have a lifetime, the types of that crate
    /// must have one, too.
    ///
    /// ```
    /// # fn main() -> Result<(), accp_build::Error> {
    /// let text = accp_build::Builder::new()
    ///     .standard_profiles(true)
    ///     .extern_path("TA", "::frames")
    ///     .generate()?;
    /// assert!(!text.contains("pub struct ScheduleReq"));
    /// assert!(text.contains("    ScheduleReq(::frames::ScheduleReq<'a>),\n"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`generate`](Self::generate) refuses a text that is not a path, and a path that names no type.
    pub fn extern_path(mut self, path: impl Into<String>, rust: impl Into<String>) -> Self {
        self.options.extern_paths.push((path.into(), rust.into()));
        self
    }

    /// Sets the path at which the derive finds the registry, relative to the folder of the `Cargo.toml` of the crate
    /// that compiles the text. The default is the path that [`registry`](Self::registry) sets.
    pub fn registry_path(mut self, path: impl Into<PathBuf>) -> Self {
        self.registry_path = Some(path.into());
        self
    }

    /// Sets the folder to write to; the default is `OUT_DIR`.
    pub fn out_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.out_dir = Some(path.into());
        self
    }

    /// Sets the name of the file; the default is `accp.rs`.
    pub fn out_file(mut self, name: impl Into<PathBuf>) -> Self {
        self.out_file = name.into();
        self
    }

    /// Returns the text, without writing it.
    ///
    /// # Errors
    /// Every mistake in the registry, with file and line, and the errors of [`generate`].
    pub fn generate(&self) -> Result<String, Error> {
        let mut options = self.options.clone();
        options.registry = self.place()?;
        let registry = match &self.registry {
            Some(path) => Registry::load(path)?,
            None => Registry::empty(),
        };
        generate(&registry, &options).map_err(|mut error| {
            if let (Error::Names(faults), Some(path)) = (&mut error, &self.registry) {
                for fault in faults {
                    fault.place(path);
                }
            }
            error
        })
    }

    /// Returns a sentence for each standard profile that a schema of the registry replaces; see
    /// [`Registry::replaced`].
    ///
    /// # Errors
    /// Every mistake in the registry, with file and line.
    pub fn replaced(&self) -> Result<Vec<String>, Error> {
        let registry = self.registry.as_ref();
        let said = registry.map(|path| Ok::<_, Error>(Registry::load(path)?.replaced()));
        said.unwrap_or(Ok(Vec::new()))
    }

    /// Writes the file, and tells Cargo which files it depends on. Cargo prints a warning for each profile that the
    /// registry [replaces](Self::replaced).
    ///
    /// # Errors
    /// The errors of [`Builder::generate`], and when the file cannot be written. An existing file
    /// is then unchanged.
    pub fn compile(&self) -> Result<(), Error> {
        for said in self.replaced()? {
            println!("cargo:warning={said}");
        }
        for path in self.inputs() {
            println!("cargo:rerun-if-changed={}", path.display());
        }
        write(self.folder()?.join(&self.out_file), &self.generate()?).map(|_| ())
    }

    /// Returns the folder to write to.
    pub(crate) fn folder(&self) -> Result<PathBuf, Error> {
        let set = self.out_dir.clone();
        let set = set.or_else(|| env::var_os("OUT_DIR").map(PathBuf::from));
        set.ok_or(Error::NoOutDir)
    }

    /// Returns the name of the file, in the folder.
    pub(crate) fn file(&self) -> &Path {
        &self.out_file
    }

    /// Returns the path at which the derive finds the registry; `None` if there is no registry.
    pub(crate) fn place(&self) -> Result<Option<String>, Error> {
        let path = self.registry.as_ref();
        let path = path.map(|path| self.registry_path.as_ref().unwrap_or(path));
        path.map(|path| slashed(path)).transpose()
    }

    /// Returns the paths that the generated text depends on: the path of the registry, and the files there. Cargo
    /// watches the path of a folder to notice new and removed files. Without a registry, this is `Cargo.toml`: with
    /// no path at all, Cargo would run the script at every change in the crate; with a path that does not exist, at
    /// every build.
    fn inputs(&self) -> Vec<PathBuf> {
        let Some(path) = &self.registry else {
            return vec![PathBuf::from("Cargo.toml")];
        };
        // `generate` reports files that cannot be read, so this function does not.
        let mut inputs = registry_files(path).unwrap_or_default();
        if !inputs.contains(path) {
            inputs.insert(0, path.clone());
        }
        inputs
    }
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const REGISTRY: &str = r#"{ "schemas": { "finding": { "code": "FD", "fields": ["topic"] } } }"#;

    #[test]
    fn writes_once_and_leaves_an_equal_file_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (registry, out) = (
            folder.path().join("registry.json"),
            folder.path().join("out"),
        );
        fs::create_dir(&out).unwrap();
        fs::write(&registry, REGISTRY).unwrap();
        let builder = Builder::new()
            .registry(&registry)
            .out_dir(&out)
            .out_file("frames.rs");
        builder.compile().unwrap();
        let file = out.join("frames.rs");
        assert_eq!(
            fs::read_to_string(&file).unwrap(),
            builder.generate().unwrap()
        );

        let long_ago = std::time::UNIX_EPOCH;
        fs::File::options()
            .write(true)
            .open(&file)
            .unwrap()
            .set_modified(long_ago)
            .unwrap();
        builder.compile().unwrap();
        assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), long_ago);
        assert_eq!(
            fs::read_dir(&out).unwrap().count(),
            1,
            "nothing is left beside the file"
        );

        fs::write(&registry, REGISTRY.replace("topic", "subject")).unwrap();
        builder.compile().unwrap();
        assert!(
            fs::read_to_string(&file)
                .unwrap()
                .contains("pub subject: Option<Value<'a>>")
        );
    }

    #[test]
    fn a_registry_that_is_not_utf_8_has_its_cure() {
        let folder = tempfile::tempdir().unwrap();
        let registry = folder.path().join("latin.json");
        fs::write(&registry, b"{ \"schemas\": { \"caf\xe9\": {} } }").unwrap();
        let error = Builder::new().registry(&registry).generate().unwrap_err();
        let said = error.to_string();
        assert!(
            said.contains("latin.json:1:20: byte 19 is not UTF-8"),
            "{said}"
        );
        assert!(said.contains("save the file as UTF-8"), "{said}");
    }

    #[test]
    fn a_mistake_in_the_registry_leaves_the_file_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let registry = folder.path().join("registry.json");
        fs::write(
            &registry,
            "{ \"schemas\": {\n  \"a\": { \"fields\": [] } } }",
        )
        .unwrap();
        fs::write(folder.path().join("accp.rs"), "before").unwrap();
        let builder = Builder::new().registry(&registry).out_dir(folder.path());
        let error = builder.compile().unwrap_err();
        let text = format!("{error:?}").replace(&folder.path().display().to_string(), "DIR");
        insta::assert_snapshot!(text, @r#"
        the registry has mistakes:
        DIR/registry.json:2:3 at /schemas/a: the schema has no `code`
            add "code": "XY"
        "#);
        assert_eq!(
            fs::read_to_string(folder.path().join("accp.rs")).unwrap(),
            "before"
        );
    }

    #[test]
    fn a_clash_of_names_has_its_file_and_line() {
        let folder = tempfile::tempdir().unwrap();
        let schema = |name: &str, code: &str| {
            format!(
                "\u{feff}{{ \"schemas\": {{\n  \"{name}\": {{ \"code\": \"{code}\", \"fields\": [\"x\"],\n\
                 \"types\": {{ \"x\": \"enum(a-b,a_b)\" }} }} }} }}"
            )
        };
        fs::write(folder.path().join("a.json"), schema("my_task", "A")).unwrap();
        fs::write(folder.path().join("b.json"), schema("myTask", "B")).unwrap();
        let error = Builder::new().registry(folder.path()).generate();
        let text = error.unwrap_err().to_string();
        let text = text.replace(&folder.path().display().to_string(), "DIR");
        insta::assert_snapshot!(text, @"
        the registry gives no clear Rust names:
        DIR/b.json:3:12 at /schemas/myTask/types/x: the enum values `a-b` and `a_b` would both be called `AB`
            make one the symbol of another name: enum(a_name=a_b)
        DIR/a.json:3:12 at /schemas/my_task/types/x: the enum values `a-b` and `a_b` would both be called `AB`
            make one the symbol of another name: enum(a_name=a_b)
        DIR/a.json:2:3 at /schemas/my_task: the struct of the schema would be called `MyTask`, as the struct of the schema at /schemas/myTask is
            give one of the two another name
        DIR/a.json:3:12 at /schemas/my_task/types/x: the enum of the field `x` would be called `MyTaskX`, as the enum of the field `x` at /schemas/myTask/types/x is
            give one of the two another name
        ");
    }

    #[test]
    fn depends_on_the_folder_and_on_each_file_in_it() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.json", "a.json", "notes.txt"] {
            fs::write(folder.path().join(name), REGISTRY).unwrap();
        }
        let names = |builder: Builder| -> Vec<String> {
            let inputs = builder.inputs().into_iter();
            let inner = inputs.map(|path| match path.strip_prefix(folder.path()) {
                Ok(inner) => slashed(inner).unwrap(),
                Err(_) => slashed(&path).unwrap(),
            });
            inner.collect()
        };
        assert_eq!(
            names(Builder::new().registry(folder.path())),
            [".", "a.json", "b.json"]
        );
        assert_eq!(
            names(Builder::new().registry(folder.path().join("a.json"))),
            ["a.json"]
        );
        assert_eq!(names(Builder::new().registry("not/there")), ["not/there"]);
        assert_eq!(
            names(Builder::new().standard_profiles(true)),
            ["Cargo.toml"]
        );
    }

    #[test]
    fn reports_missing_settings() {
        insta::assert_snapshot!(Builder::new().generate().unwrap_err(), @"there is nothing to generate; name a registry, or ask for the standard profiles");
        let odd = Builder::new().standard_profiles(true).runtime("my runtime");
        insta::assert_snapshot!(odd.generate().unwrap_err(), @"`my runtime` is not the path of a crate or a module; expected one like `accp_runtime`");
        let path = Some("a\nb".to_owned());
        let odd = Options {
            registry: path,
            ..Options::default()
        };
        insta::assert_snapshot!(generate(&Registry::empty(), &odd).unwrap_err(), @r#"the path "a\nb" cannot stand in a source file; call the registry something else"#);
        let missing = Builder::new()
            .registry("no/such")
            .generate()
            .unwrap_err()
            .to_string();
        assert!(missing.starts_with("the registry has mistakes:\nno/such: cannot be read: "));
    }
}
