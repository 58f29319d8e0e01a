//! The rules of every door: only the gate finds out who asks, and no error is treated as the end of a stream.

use super::workspace::{self, Sources};

/// The only files of the hub that find out who asks, and the file that shows readers who has sent a frame.
const GATE: [&str; 7] = [
    "entry.rs",
    "auth.rs",
    "layers.rs",
    "access.rs",
    "tokens.rs",
    "jwt.rs",
    "forward.rs",
];

/// Code that finds out who asks. The doors of other protocols get the result from the gate.
const ASKS: [&str; 6] = [
    "AUTHORIZATION",
    "identify(",
    "RawPathParams",
    "session_id",
    "frame.agent",
    "Path(At",
];

/// Routes that show nothing of a session, so they need no token.
const PUBLIC: [&str; 4] = ["ui::page", "describe", "|| async { \"ok\\n\" }", "ready"];

/// Crates on the way from a store to a socket.
const WAY: [&str; 5] = [
    "crates/hub/store/src/",
    "crates/hub/client/src/",
    "crates/hub/hub/src/",
    "crates/hub/mcp/src/",
    "crates/hub/a2a/src/",
];

/// Code that turns an error into an end of a stream.
const ENDS: [&str; 6] = [
    "while let Ok(Some(",
    ".ok().flatten()",
    "filter_map(Result::ok)",
    "map_while(Result::ok)",
    "flat_map(Result::ok)",
    ".next().await.ok()",
];

/// If a line turns an error into an end on purpose, the comment above the line has these words.
const MEANT: &str = "An error ends this, too";

/// Returns the names of the functions that answer routes.
fn handlers(routes: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in routes.lines().filter(|line| line.contains(".route(")) {
        for method in ["get(", "post(", "put(", "delete(", "any("] {
            for (at, _) in line.match_indices(method) {
                let rest = &line[at + method.len()..];
                found.push(argument(rest).trim().to_owned());
            }
        }
    }
    found
}

/// Returns a text up to the bracket that closes it.
fn argument(text: &str) -> &str {
    let mut depth = 1;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[..at];
        }
    }
    text
}

/// Returns the fault of a handler whose arguments do not include the caller.
fn check(sources: &Sources, handler: &str) -> Option<String> {
    if PUBLIC.contains(&handler) {
        return None;
    }
    let (module, function) = handler.split_once("::").unwrap_or(("routes", handler));
    let module = if module == "posts" { "post" } else { module };
    let file = format!("crates/hub/hub/src/{module}.rs");
    let text = sources
        .iter()
        .find(|(path, _)| path.to_string_lossy() == file);
    let start = text.and_then(|(_, text)| Some((text, text.find(&format!("fn {function}("))?)));
    let Some((text, start)) = start else {
        return Some(format!(
            "{file} has no function {function}, which answers a route"
        ));
    };
    let from = start + format!("fn {function}(").len();
    let arguments = argument(&text[from..]);
    let says = [
        "caller: Authorized",
        "requester: Authenticated",
        "_: Authenticated",
    ];
    let says = says.iter().any(|type_| arguments.contains(type_));
    (!says).then(|| {
        format!(
            "{file}: {function} answers a route and takes no `Authorized` and no `Authenticated`"
        )
    })
}

/// Returns the lines outside of comments and tests that have one of these texts.
fn lines_with<'s>(text: &'s str, all: &[&str]) -> Vec<(usize, &'s str)> {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut before = "";
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let code = line.split("//").next().unwrap_or_default();
        if all.iter().any(|one| code.contains(one)) && !before.contains(MEANT) {
            found.push((number, line.trim()));
        }
        before = line;
    }
    found
}

/// Returns whether a file may find out who asks.
fn is_gate(name: &str) -> bool {
    let file = name.strip_prefix("crates/hub/hub/src/").unwrap_or_default();
    GATE.contains(&file) || file.starts_with("jwt/") || file.starts_with("layers/")
}

fn who_asks(sources: &Sources) -> Vec<String> {
    let mut findings = Vec::new();
    for (path, text) in sources {
        let name = path.to_string_lossy();
        let is_hub = name.starts_with("crates/hub/hub/src/");
        let is_service =
            name.starts_with("crates/hub/mcp/src/") || name.starts_with("crates/hub/a2a/src/");
        if is_hub && !is_gate(&name) {
            for (number, line) in lines_with(text, &ASKS) {
                findings.push(format!(
                    "{name}:{number}: only the gate finds out who asks: {line}"
                ));
            }
        }
        // A request to a remote A2A agent carries a token of its own, so its file may name the
        // header.
        if is_service && !name.contains("/remote") {
            for (number, line) in lines_with(text, &["AUTHORIZATION", "RawPathParams", "Path("]) {
                findings.push(format!(
                    "{name}:{number}: a service is told who asks: {line}"
                ));
            }
        }
    }
    findings
}

fn errors_as_ends(sources: &Sources) -> Vec<String> {
    let mut findings = Vec::new();
    for (path, text) in sources {
        let name = path.to_string_lossy();
        if WAY.iter().any(|way| name.starts_with(way)) {
            for (number, line) in lines_with(text, &ENDS) {
                findings.push(format!("{name}:{number}: an error is never an end: {line}"));
            }
        }
    }
    findings
}

#[test]
fn every_route_knows_who_asks() {
    let sources = workspace::sources(&workspace::top()).expect("the workspace");
    let routes = sources
        .iter()
        .find(|(path, _)| path.ends_with("crates/hub/hub/src/routes.rs"));
    let (_, routes) = routes.expect("the routes of the hub");
    let handlers = handlers(routes);
    assert!(handlers.len() > 12, "{handlers:?}");
    let faults: Vec<_> = handlers
        .iter()
        .filter_map(|handler| check(&sources, handler))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn only_the_gate_finds_out_who_asks() {
    let faults = who_asks(&workspace::sources(&workspace::top()).expect("the workspace"));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn an_error_is_never_an_end() {
    let faults = errors_as_ends(&workspace::sources(&workspace::top()).expect("the workspace"));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_rules_of_the_doors_see_what_breaks_them() {
    let file = |name: &str, text: &str| Sources::from([(name.into(), text.to_owned())]);
    let route = ".route(\"/x\", get(reads::all).put(puts::put))";
    assert_eq!(handlers(route), ["reads::all", "puts::put"]);
    let open = file(
        "crates/hub/hub/src/reads.rs",
        "pub(crate) async fn all(State(app): State<Shared>) {}",
    );
    assert!(check(&open, "reads::all").is_some());
    let closed = file(
        "crates/hub/hub/src/reads.rs",
        "async fn all(State(app): S, caller: Authorized) {}",
    );
    assert_eq!(check(&closed, "reads::all"), None);
    let path = file("crates/hub/hub/src/puts.rs", "let agent = &frame.agent;");
    assert_eq!(who_asks(&path).len(), 1);
    let service = file("crates/hub/mcp/src/http.rs", "headers.get(AUTHORIZATION)");
    assert_eq!(who_asks(&service).len(), 1);
    let end = "let next = read.next().await.ok().flatten()?;";
    assert_eq!(
        errors_as_ends(&file("crates/hub/hub/src/reads.rs", end)).len(),
        1
    );
    let meant = format!("// {MEANT}: the desk is gone.\n{end}");
    assert!(errors_as_ends(&file("crates/hub/hub/src/reads.rs", &meant)).is_empty());
}
