//! Tokens that somebody else has signed.
mod signer;

use std::fs;
use std::path::Path;

use crate::common::{TestHub, frame};
use accp_hub::{Access, AnyOf, Config, Denied, Jwt, Tokens};
use futures_util::StreamExt as _;
use reqwest::StatusCode;
use serde_json::{Value, json};
use signer::{Ed, Es, base64, hmac, join, now};

const ISSUER: &str = "https://login.example.com";

/// Keys, and tokens that `PyJWT` has made.
fn samples() -> Value {
    serde_json::from_str(include_str!("jwt/samples.json")).expect("JSON")
}

fn written(folder: &Path, keys: &Value) -> std::path::PathBuf {
    let file = folder.join("jwks.json");
    fs::write(&file, keys.to_string()).expect("a file");
    file
}

fn claims() -> Value {
    json!({
        "iss": ISSUER, "aud": "accp", "sub": "dev", "accp_sessions": ["lunch"], "exp": now() + 600,
    })
}

fn with(name: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[name] = value;
    claims
}

fn without(name: &str) -> Value {
    let mut claims = claims();
    claims.as_object_mut().expect("an object").remove(name);
    claims
}

#[tokio::test]
async fn tokens_of_another_library_say_who_the_caller_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let samples = samples();
    let jwt = Jwt::read(written(folder.path(), &samples["jwks"])).expect("keys");
    let jwt = jwt.with_issuer(ISSUER).with_audience("accp");
    let token = |name: &str| {
        samples["tokens"][name]
            .as_str()
            .expect("a token")
            .to_owned()
    };
    let known = async |token: &str| {
        let known = jwt.identify(Some(token)).await?;
        assert_eq!(known.check("lunch", Some("dev")), Ok(()));
        assert_eq!(known.check("team-7", Some("dev")), Ok(()));
        assert_eq!(known.check("lunch", Some("eve")), Err(Denied::Agent));
        known.check("other", Some("dev")).or(Err(Denied::Session))
    };
    for name in ["RS256", "ES256", "EdDSA"] {
        let token = token(name);
        assert_eq!(known(&token).await, Err(Denied::Session), "{name}");
        // The test changes one character of each part.
        let ends = token.match_indices('.').map(|(at, _)| at - 2);
        for at in ends.chain([token.len() - 5]) {
            let mut other = token.clone().into_bytes();
            other[at] = if other[at] == b'A' { b'B' } else { b'A' };
            let other = String::from_utf8(other).expect("text");
            assert_eq!(
                jwt.identify(Some(&other)).await,
                Err(Denied::Token),
                "{name} {at}"
            );
        }
    }
    // The RSA key could check this signature, but the key set declares it for RS256 only.
    assert_eq!(
        jwt.identify(Some(&token("PS256"))).await,
        Err(Denied::Token)
    );
}

#[tokio::test]
async fn signatures_that_a_stranger_can_make_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let samples = samples();
    let rsa = samples["jwks"]["keys"][0].clone();
    let ours = Es::new("ours");
    let keys = json!({"keys": [rsa, ours.public()]});
    let jwt = Jwt::read(written(folder.path(), &keys)).expect("keys");
    let jwt = jwt.with_issuer(ISSUER).with_audience("accp");
    let refused = async |token: String| {
        assert_eq!(
            jwt.identify(Some(&token)).await,
            Err(Denied::Token),
            "{token}"
        );
    };
    let valid = ours.sign(&claims());
    let known = jwt.identify(Some(&valid)).await.expect("a token");
    assert_eq!(known.check("lunch", Some("dev")), Ok(()));
    assert!(known.ends().is_some(), "it ends with its `exp`");

    // Tokens without a signature, with several spellings of the algorithm.
    for alg in ["none", "None", "NONE", ""] {
        let head = json!({"alg": alg, "kid": "ours"});
        refused(join(&head, &claims()) + ".").await;
    }
    refused(valid.rsplit_once('.').expect("parts").0.to_owned() + ".").await;
    // HMAC with the public key as the secret, in each of its forms.
    let modulus = rsa["n"].as_str().expect("n");
    let forms = [
        rsa.to_string().into_bytes(),
        modulus.as_bytes().to_vec(),
        signer::bytes(modulus),
        ours.point(),
    ];
    for secret in &forms {
        for kid in ["key-RS256", "ours"] {
            refused(hmac(secret, kid, &claims())).await;
        }
    }
    // A foreign key under the known id, keys that the token brings along, an unknown id and no id.
    let eve = Es::new("ours");
    refused(eve.sign(&claims())).await;
    refused(eve.sign_with(json!({"jwk": eve.public()}), &claims())).await;
    refused(eve.sign_with(json!({"jku": "http://127.0.0.1:1/jwks.json"}), &claims())).await;
    refused(Es::new("unknown").sign(&claims())).await;
    refused(ours.sign_with(json!({"kid": null}), &claims())).await;
    // The signature of one algorithm, with the key id or the name of another.
    refused(ours.sign_with(json!({"kid": "key-RS256"}), &claims())).await;
    refused(ours.sign_with(json!({"alg": "RS256"}), &claims())).await;
    // An extension that the hub would have to understand.
    refused(ours.sign_with(json!({"crit": ["b64"], "b64": false}), &claims())).await;
    // Texts that are not tokens.
    for text in ["", ".", "..", "...", "a.b.c", "\u{e9}.\u{e9}.\u{e9}"] {
        refused(text.to_owned()).await;
    }
    refused(valid.clone() + ".more").await;
    refused(valid.clone() + "=").await;
    // A signed token that is too long.
    refused(ours.sign(&with("pad", json!("x".repeat(9_000))))).await;
    refused("a.".repeat(1_000_000)).await;
    assert_eq!(jwt.identify(None).await, Err(Denied::Token));
}

#[tokio::test]
async fn claims_that_do_not_let_the_caller_in_say_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let ours = Ed::new("ours");
    let file = written(folder.path(), &json!({"keys": [ours.public()]}));
    let jwt = Jwt::read(&file).expect("keys");
    let jwt = jwt.with_issuer(ISSUER).with_audience("accp");
    let now = now();
    for (claims, part) in [
        (with("exp", json!(now - 60)), "(`exp`)"),
        (with("exp", json!(0)), "(`exp`)"),
        (with("exp", json!(now.to_string())), "numbers"),
        (with("exp", json!(-1)), "numbers"),
        (with("exp", Value::Null), "with `exp`"),
        (without("exp"), "with `exp`"),
        (with("nbf", json!(now + 60)), "(`nbf`)"),
        (with("nbf", json!([now])), "JSON object"),
        (with("iss", json!("https://evil.example")), "(`iss`)"),
        (
            with("iss", json!(["https://evil.example", ISSUER])),
            "(`iss`)",
        ),
        (with("iss", json!([ISSUER])), "(`iss`)"),
        (with("iss", json!(7)), "with `iss`"),
        (without("iss"), "with `iss`"),
        (with("aud", json!("other")), "(`aud`)"),
        (with("aud", json!(["other", "accp2"])), "(`aud`)"),
        (with("aud", json!({"accp": true})), "`aud`"),
        (without("aud"), "`aud`"),
        (without("sub"), "names an agent"),
        (with("sub", json!(["dev"])), "JSON object"),
        (with("sub", json!("dev>req:plan{}")), "names an agent"),
        (with("sub", json!("")), "names an agent"),
        (without("accp_sessions"), "names of sessions"),
        (with("accp_sessions", json!("*")), "names of sessions"),
        (
            with("accp_sessions", json!(["lunch", 7])),
            "names of sessions",
        ),
    ] {
        let token = ours.sign(&claims);
        let denied = jwt.identify(Some(&token)).await.expect_err("denied");
        assert!(matches!(denied, Denied::Claims(_)), "{claims}: {denied:?}");
        assert!(denied.to_string().contains(part), "{claims}: {denied}");
    }
    // Claims that are not an object, or that have one name twice.
    let deep = "[".repeat(5_000);
    let twice = r#"{"iss":"https://login.example.com","aud":"accp","exp":9999999999,"sub":"dev",
        "accp_sessions":[],"accp_sessions":["*"]}"#;
    for text in [
        "[]",
        "7",
        "",
        "{\"exp\":9999999999,\"exp\":1}",
        twice,
        &deep,
    ] {
        let token = ours.sign_text(text);
        let denied = jwt.identify(Some(&token)).await.expect_err("denied");
        assert!(
            denied.to_string().contains("JSON object"),
            "{text}: {denied}"
        );
    }
    // A difference of some seconds between clocks is allowed.
    for claims in [with("exp", json!(now - 5)), with("nbf", json!(now + 5))] {
        assert!(jwt.identify(Some(&ours.sign(&claims))).await.is_ok());
    }
    // A token that names no session cannot open one.
    let none = ours.sign(&with("accp_sessions", json!([])));
    let none = jwt.identify(Some(&none)).await.expect("it is signed");
    assert_eq!(none.check("lunch", Some("dev")), Err(Denied::Session));

    // A hub without an audience refuses a token that is made for one.
    let anywhere = Jwt::read(&file).expect("keys");
    let denied = anywhere.identify(Some(&ours.sign(&claims()))).await;
    assert!(denied.expect_err("denied").to_string().contains("(`aud`)"));
    assert!(
        anywhere
            .identify(Some(&ours.sign(&without("aud"))))
            .await
            .is_ok()
    );
    let named = anywhere.with_claims("agent", "rooms");
    let claims = json!({"agent": "cook", "rooms": ["kitchen"], "exp": now + 600});
    let cook = named.identify(Some(&ours.sign(&claims))).await;
    let cook = cook.expect("a token");
    assert_eq!(cook.check("kitchen", Some("cook")), Ok(()));
    assert_eq!(cook.check("lunch", None), Err(Denied::Session));
}

#[test]
fn a_file_of_keys_that_cannot_be_used_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let es = Es::new("a").public();
    let but = |name: &str, value: Value| {
        let mut key = es.clone();
        key[name] = value;
        key
    };
    let short = base64(&[0xff; 128]);
    for (keys, part) in [
        (
            json!({"keys": []}),
            "expected a key for RS256, ES256 or EdDSA",
        ),
        (json!({}), "missing field `keys`"),
        (
            json!({"keys": [but("kid", Value::Null)]}),
            "key 1: it has no `kid`",
        ),
        (
            json!({"keys": [but("d", json!("AA"))]}),
            "key 1: it holds its secret part (`d`)",
        ),
        (
            json!({"keys": [es, {"kty": "oct", "kid": "b", "k": "AA"}]}),
            "key 2: it holds its secret part (`k`)",
        ),
        (
            json!({"keys": [es, es]}),
            "key 2: this `kid` stands there twice",
        ),
        (
            json!({"keys": [but("use", json!("enc"))]}),
            "key 1: its `use`",
        ),
        (
            json!({"keys": [but("key_ops", json!(["sign"]))]}),
            "key 1: its `key_ops`",
        ),
        (
            json!({"keys": [but("alg", json!("RS256"))]}),
            "key 1: its `alg` is not ES256",
        ),
        (
            json!({"keys": [but("alg", json!("HS256"))]}),
            "key 1: its `alg` is not ES256",
        ),
        (
            json!({"keys": [but("crv", json!("P-384"))]}),
            "key 1: it is not of RSA, P-256 or Ed25519",
        ),
        (
            json!({"keys": [but("x", json!("AAAA"))]}),
            "key 1: its coordinates",
        ),
        (
            json!({"keys": [{"kty": "RSA", "kid": "a", "n": short, "e": "AQAB"}]}),
            "key 1: it has 1024 bits",
        ),
    ] {
        let file = written(folder.path(), &keys);
        let error = Jwt::read(&file).expect_err("unusable").to_string();
        assert!(
            error.contains("jwks.json: ") && error.contains(part),
            "{error}"
        );
    }
    // The key set of an identity provider may have keys for other purposes, too.
    let mixed = json!({"keys": [
        {"kty": "RSA", "kid": "enc", "use": "enc", "alg": "RSA-OAEP", "n": base64(&[0xff; 256]), "e": "AQAB"},
        {"kty": "new", "kid": "new", "shape": "round"},
        es,
    ]});
    Jwt::read(written(folder.path(), &mixed)).expect("one key is enough");
}

#[tokio::test]
async fn a_key_that_is_taken_out_ends_its_tokens_and_sockets() {
    let folder = tempfile::tempdir().expect("a folder");
    let (old, new) = (Es::new("old"), Ed::new("new"));
    let keys = json!({"keys": [old.public(), new.public()]});
    let file = written(folder.path(), &keys);
    let tokens = folder.path().join("tokens.toml");
    let digest = Tokens::digest("secret");
    fs::write(
        &tokens,
        format!("[[token]]\nsha256 = \"{digest}\"\nagent = \"cook\"\nsessions = [\"*\"]\n"),
    )
    .expect("a file");
    let access = AnyOf::new([
        Box::new(Tokens::read(&tokens).expect("tokens")) as Box<dyn Access>,
        Box::new(
            Jwt::read(&file)
                .expect("keys")
                .with_issuer(ISSUER)
                .with_audience("accp"),
        ),
    ]);
    assert!(!access.is_open());
    let config = Config {
        heartbeat: 1,
        ..Config::default()
    };
    let hub = TestHub::with_access(config, access).await;
    let post = async |token: &str, agent: &str, mid: &str, session: &str| {
        let frame = frame(
            &format!("@{agent}>req:plan{{}}"),
            mid,
            1,
            &format!("sid:{session}"),
        );
        let request = hub.posting().bearer_auth(token).body(frame);
        let answer = request.send().await.expect("an answer");
        (answer.status(), answer.text().await.expect("text"))
    };
    let (first, second) = (old.sign(&claims()), new.sign(&with("sub", json!("eve"))));
    assert_eq!(
        post(&first, "dev", "a00000000001", "lunch").await.0,
        StatusCode::OK
    );
    assert_eq!(
        post(&second, "eve", "a00000000002", "lunch").await.0,
        StatusCode::OK
    );
    assert_eq!(
        post("secret", "cook", "a00000000003", "lunch").await.0,
        StatusCode::OK
    );
    let (status, reply) = post(&first, "eve", "a00000000004", "lunch").await;
    assert!(
        status == StatusCode::FORBIDDEN && reply.contains("E5001"),
        "{status} {reply}"
    );
    let (status, reply) = post(&first, "dev", "a00000000005", "payroll").await;
    assert!(
        status == StatusCode::FORBIDDEN && reply.contains("E5002"),
        "{status} {reply}"
    );
    let expired = old.sign(&with("exp", json!(now() - 60)));
    let (status, reply) = post(&expired, "dev", "a00000000006", "lunch").await;
    assert!(
        status == StatusCode::UNAUTHORIZED && reply.contains("expired"),
        "{status} {reply}"
    );

    let mut socket = hub.socket_of("?session=lunch&agent=dev", &first).await;
    socket
        .send_text("@dev>sync:registry{v:1|hash:abc123|pos:0|ext:[]}[mid:a00000000007,seq:0]")
        .await;
    written(folder.path(), &json!({"keys": [new.public()]}));
    // The hub closes the socket at one of the next heartbeats.
    let mut last = String::new();
    while let Some(reply) = socket.receive().await {
        last = reply;
    }
    assert!(last.starts_with("close 1008 E5001"), "{last}");
    let (status, reply) = post(&first, "dev", "a00000000008", "lunch").await;
    assert_eq!(status, StatusCode::UNAUTHORIZED, "{reply}");
    assert!(!reply.contains("expired"), "{reply}");
    let (status, reply) = post(&second, "eve", "a00000000009", "lunch").await;
    assert!(
        reply.contains("E3003") || status == StatusCode::OK,
        "it has its key still: {reply}"
    );
    hub.stop().await;
}

#[tokio::test]
async fn a_token_that_expires_ends_what_is_open() {
    let folder = tempfile::tempdir().expect("a folder");
    let ours = Es::new("ours");
    let keys = written(folder.path(), &json!({"keys": [ours.public()]}));
    let jwt = Jwt::read(keys).expect("keys");
    let hub = TestHub::with_access(
        Config::default(),
        jwt.with_issuer(ISSUER).with_audience("accp"),
    )
    .await;
    let post = async |token: &str, mid: &str, seq: u64| {
        let plan = frame("@dev>req:plan{}", mid, seq, "sid:lunch");
        let request = hub.posting().bearer_auth(token).body(plan);
        let answer = request.send().await.expect("an answer");
        (answer.status(), answer.text().await.expect("text"))
    };
    // Clocks may differ by 30 seconds. So this token, which expired 24 seconds ago, is valid for six more.
    let short = ours.sign(&with("exp", json!(now() - 24)));
    let (status, reply) = post(&short, "a00000000001", 1).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let mut socket = hub.socket_of("?session=lunch&agent=dev", &short).await;
    socket
        .send_text("@dev>sync:registry{v:1|hash:abc123|pos:0|ext:[]}[mid:a00000000007,seq:0]")
        .await;
    let url = hub.url("/accp/v1/sessions/lunch/frames?follow=true");
    let followed = hub
        .http
        .get(url)
        .bearer_auth(&short)
        .send()
        .await
        .expect("an answer");
    assert_eq!(followed.status(), StatusCode::OK);
    let (mut body, mut text) = (followed.bytes_stream(), String::new());
    let broke = loop {
        match body.next().await {
            Some(Ok(piece)) => text += &String::from_utf8_lossy(&piece),
            Some(Err(_)) => break true,
            None => break false,
        }
    };
    assert!(broke && text.contains("has_not_expired"), "{text}");
    let mut last = String::new();
    while let Some(reply) = socket.receive().await {
        last = reply;
    }
    assert!(
        last.starts_with("close 1008 E5001") && last.contains("exp"),
        "{last}"
    );
    let (status, _) = post(&short, "a00000000002", 2).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    hub.stop().await;
}
