//! A hub that speaks TLS, and its certificate.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::common::TestHub;
use accp_client::{Agent, tls_settings};
use accp_hub::{Config, ListenError, Open, Server, Sessions, Tls};
use accp_store::{Committer, MemoryStore};

/// Makes a certificate for loopback and its key, and returns both as texts.
fn made(folder: &Path) -> (String, String) {
    let (key, certificate) = (folder.join("made.key"), folder.join("made.pem"));
    let openssl = Command::new("openssl")
        .args(["req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt"])
        .args(["ec_paramgen_curve:prime256v1", "-subj", "/CN=hub"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .args(["-addext", "subjectAltName=IP:127.0.0.1", "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output()
        .expect("openssl");
    assert!(openssl.status.success(), "{openssl:?}");
    let read = |file| fs::read_to_string(file).expect("a file");
    (read(&certificate), read(&key))
}

/// Returns the status of `/healthz` for a client that trusts this certificate, on a connection of its own.
async fn ask(hub: &TestHub, folder: &Path, trusted: &str) -> Result<u16, String> {
    let file = folder.join("trusted.pem");
    fs::write(&file, trusted).expect("a file");
    let tls = rustls::ClientConfig::clone(&*tls_settings(Some(&file))?);
    let http = reqwest::Client::builder().tls_backend_preconfigured(tls);
    let http = http.build().map_err(|error| error.to_string())?;
    let url = format!("https://{}/healthz", hub.address);
    let answer = http.get(url).send().await;
    let answer = answer.map_err(|error| error.to_string())?;
    Ok(answer.status().as_u16())
}

#[tokio::test]
async fn a_renewed_certificate_needs_no_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let tls = Tls {
        certificate: folder.path().join("hub.pem"),
        key: folder.path().join("hub.key"),
    };
    let write = |pair: &(String, String)| {
        fs::write(&tls.certificate, &pair.0).expect("a file");
        fs::write(&tls.key, &pair.1).expect("a file");
    };
    let (first, second, third) = (
        made(folder.path()),
        made(folder.path()),
        made(folder.path()),
    );
    write(&first);
    let config = Config {
        tls: Some(tls.clone()),
        ..Config::default()
    };
    let hub = TestHub::start(config).await;
    assert_eq!(ask(&hub, folder.path(), &first.0).await, Ok(200));
    assert!(ask(&hub, folder.path(), &second.0).await.is_err());
    let plain = reqwest_plain(&hub).await;
    assert!(plain.is_err(), "it speaks TLS alone: {plain:?}");

    // The hub checks the files a few times a second.
    write(&second);
    while ask(&hub, folder.path(), &second.0).await.is_err() {}
    assert!(ask(&hub, folder.path(), &first.0).await.is_err());
    // The hub ignores a renewal until both files have changed.
    fs::write(&tls.certificate, &third.0).expect("a file");
    assert_eq!(ask(&hub, folder.path(), &second.0).await, Ok(200));
    fs::write(&tls.key, &third.1).expect("a file");
    while ask(&hub, folder.path(), &third.0).await.is_err() {}
    hub.stop().await;
}

/// A hub to which nobody connects sees a renewal, too: its next client gets the new certificate.
#[tokio::test]
async fn the_first_client_after_a_renewal_gets_the_new_certificate() {
    let folder = tempfile::tempdir().expect("a folder");
    let tls = Tls {
        certificate: folder.path().join("hub.pem"),
        key: folder.path().join("hub.key"),
    };
    let write = |pair: &(String, String)| {
        fs::write(&tls.certificate, &pair.0).expect("a file");
        fs::write(&tls.key, &pair.1).expect("a file");
    };
    let (first, second) = (made(folder.path()), made(folder.path()));
    write(&first);
    let config = Config {
        tls: Some(tls.clone()),
        ..Config::default()
    };
    let hub = TestHub::start(config).await;
    assert_eq!(ask(&hub, folder.path(), &first.0).await, Ok(200));
    write(&second);
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(ask(&hub, folder.path(), &second.0).await, Ok(200));
    hub.stop().await;
}

async fn reqwest_plain(hub: &TestHub) -> Result<u16, reqwest::Error> {
    let answer = hub.http.get(hub.url("/healthz")).send().await?;
    Ok(answer.status().as_u16())
}

/// Returns why an agent that trusts the usual authorities is not let in at this hub.
async fn told(url: &str) -> String {
    let agent = Agent::connect(url, "lunch", "eve").await;
    agent.map_or_else(|error| error.to_string(), |_| "it is let in".to_owned())
}

#[tokio::test]
async fn agents_connect_over_tls() {
    let folder = tempfile::tempdir().expect("a folder");
    let (certificate, key) = made(folder.path());
    let tls = Tls {
        certificate: folder.path().join("hub.pem"),
        key: folder.path().join("hub.key"),
    };
    fs::write(&tls.certificate, certificate).expect("a file");
    fs::write(&tls.key, key).expect("a file");
    let config = Config {
        tls: Some(tls.clone()),
        ..Config::default()
    };
    let hub = TestHub::start(config).await;
    let url = format!("wss://{}", hub.address);
    let dev = Agent::connect(&url, "lunch", "dev").authority(&tls.certificate);
    dev.await.expect("it is let in");
    let strange = told(&url).await;
    assert!(strange.contains("the hub's authority"), "{strange}");
    let plain = told(&url.replace("wss", "ws")).await;
    assert!(
        plain.contains("use wss:// if the hub speaks TLS"),
        "{plain}"
    );
    hub.stop().await;
}

#[tokio::test]
async fn a_certificate_that_cannot_be_used_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let ((certificate, key), (_, other)) = (made(folder.path()), made(folder.path()));
    let tls = Tls {
        certificate: folder.path().join("hub.pem"),
        key: folder.path().join("hub.key"),
    };
    for (certificate, key, part) in [
        ("", key.as_str(), "hub.pem: there is no certificate in it"),
        (
            &certificate,
            "",
            "hub.key: there is no private key in it that opens without a password: `openssl pkey -in FILE` writes one",
        ),
        (
            &certificate,
            &other,
            "hub.key is not that of the first certificate",
        ),
        (
            "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n",
            &key,
            "hub.pem: ",
        ),
    ] {
        fs::write(&tls.certificate, certificate).expect("a file");
        fs::write(&tls.key, key).expect("a file");
        let config = Config {
            listen: "127.0.0.1:0".parse().expect("an address"),
            tls: Some(tls.clone()),
            ..Config::default()
        };
        let store = || Ok(Committer::inline(MemoryStore::new()));
        let sessions = Sessions::new(&config, store).expect("a store");
        let error = Server::bind(config, sessions, Open).await;
        let error = error.expect_err("it cannot be used");
        assert!(matches!(error, ListenError::Tls(_)), "{error:?}");
        assert!(error.to_string().contains(part), "{error}");
    }
}
