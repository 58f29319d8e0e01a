//! Tests of the errors for addresses and names with which a program cannot reach its hub.

use accp_client::{Agent, Error, Hub as OwnHub};
use accp_runtime::profiles::ChatReq;
use accp_store::MemoryStore;

use super::processes::Hub;

/// Tries to connect an agent. Returns the text of the error, or `connected`.
async fn told(address: &str, name: &'static str) -> String {
    match Agent::connect(address, "team", name).await {
        Ok(_) => "connected".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn running() -> (tempfile::TempDir, Hub, String) {
    let (folder, hub) = Hub::started(crate::doors::REGISTRY);
    let place = hub.url().replace("ws://", "");
    (folder, hub, place)
}

#[tokio::test]
async fn an_address_that_is_none_is_named_with_its_cure() {
    let (_folder, _hub, place) = running();
    for (address, cure) in [
        (place.clone(), format!("as in ws://{place}")),
        (format!("//{place}"), format!("as in ws://{place}")),
        (format!("{place}/"), format!("as in ws://{place}/")),
        ("localhost:7411".into(), "as in ws://localhost:7411".into()),
        ("[::1]:7411".into(), "as in ws://[::1]:7411".into()),
        ("hub.example".into(), "as in ws://hub.example".into()),
        (format!("ftp://{place}"), format!("as in ws://{place}")),
        (format!("file:///{place}"), format!("as in ws://{place}")),
        (String::new(), "as in ws://127.0.0.1:7337".into()),
        ("ws://".into(), "as in ws://127.0.0.1:7337".into()),
        ("ws://127.0.0.1:99999".into(), "invalid port number".into()),
    ] {
        let said = told(&address, "dev").await;
        let begin = format!("`{address}` is not the address of a hub: ");
        assert!(said.starts_with(&begin) && said.ends_with(&cure), "{said}");
    }
}

#[tokio::test]
async fn an_address_of_http_or_of_the_socket_itself_is_one() {
    let (_folder, _hub, place) = running();
    for address in [
        format!("ws://{place}"),
        format!("ws://{place}/"),
        format!("http://{place}"),
        format!("WS://{place}"),
        format!("ws:{place}"),
        format!("ws://{place}/accp/v1/ws"),
        format!("http://{place}/accp/v1/ws/"),
    ] {
        assert_eq!(told(&address, "dev").await, "connected", "{address}");
    }
}

#[tokio::test]
async fn an_address_of_something_else_says_what_is_there() {
    let (_folder, _hub, place) = running();
    for (address, why) in [
        (
            format!("wss://{place}"),
            "use ws:// if the hub speaks no TLS",
        ),
        (
            format!("https://{place}"),
            "use ws:// if the hub speaks no TLS",
        ),
        (
            format!("ws://{place}/hubs/ours"),
            "/hubs/ours refuses the agent: E2001: expected a route",
        ),
        ("ws://127.0.0.1:1".into(), "`accp serve` starts one"),
    ] {
        let said = told(&address, "dev").await;
        assert!(said.contains(why), "{address}: {said}");
    }
}

#[tokio::test]
async fn the_name_of_the_hub_is_its_own() {
    let (_folder, hub, _) = running();
    let said = told(&hub.url(), "hub").await;
    assert!(
        said.contains(
            "expected another name for the agent: hub is the name of the host of this session"
        ),
        "{said}"
    );
    let is_refused = |said: &str| said.contains("hub is the name of the host of this session");
    for args in [
        "agent hub -- true",
        "send @hub>req:note{text:soup|schema:NOTE}",
    ] {
        let (is_ok, said) = hub.accp(args);
        assert!(!is_ok && is_refused(&said), "{args}: {said}");
    }
    let own = OwnHub::open("team", MemoryStore::new()).await.unwrap();
    let error = match own.agent("hub") {
        Err(error) => error,
        Ok(agent) => agent
            .send(ChatReq::new("soup"))
            .await
            .map(drop)
            .unwrap_err(),
    };
    assert!(!matches!(error, Error::Pending(_)));
    assert!(is_refused(&error.to_string()), "{error}");
}

/// The hub takes the socket, and refuses the agent at its hello.
#[tokio::test]
async fn a_hub_that_does_not_let_an_agent_in_says_why() {
    for (settings, others, name, why) in [
        (
            "create = false",
            "",
            "dev",
            "E2001: expected a session that is there",
        ),
        (
            "limits.agents = 2",
            "desk lab",
            "dev",
            "E5001: expected a session with room for another agent",
        ),
        (
            "",
            "",
            "hub",
            "E5001: expected another name for the agent: hub is the name of the host",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("hub.toml"), settings).unwrap();
        let mut hub = Hub::new(folder.path());
        drop(hub.start_with("--config hub.toml"));
        let mut here = Vec::new();
        for other in others.split_whitespace() {
            here.push(Agent::connect(hub.url(), "team", other).await.unwrap());
        }
        let error = Agent::connect(hub.url(), "team", name).await.unwrap_err();
        assert!(matches!(error, Error::Denied(..)), "{error:?}");
        let begin = format!("the hub at {} refuses the agent: {why}", hub.url());
        assert!(error.to_string().starts_with(&begin), "{error}");
    }
}

#[test]
fn a_command_that_the_hub_refuses_says_what_the_hub_expects() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("hub.toml"), "limits.agents = 1").unwrap();
    let mut hub = Hub::new(folder.path());
    drop(hub.start_with("--config hub.toml"));
    let send = |name: &str| hub.accp(format!("send @{name}>req:note{{text:soup|schema:NOTE}}"));
    assert!(send("desk").0);
    let (is_ok, said) = send("dev");
    let expected = "E5001: the hub expects a session with room for another agent";
    assert!(!is_ok && said.contains(expected), "{said}");
}
