//! Tests that the bytes of WebSocket connections pass unread.

use accp_gateway::Policy;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::conversation::Bench;

#[tokio::test]
async fn a_socket_reaches_the_provider_and_its_end_the_client() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let provider = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        let head = String::from_utf8(head).unwrap().to_lowercase();
        let answer = b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: x\r\n\r\n";
        stream.write_all(answer).await.unwrap();
        let mut said = [0; 5];
        stream.read_exact(&mut said).await.unwrap();
        stream.write_all(b"world").await.unwrap();
        (head, said)
    });
    let config = accp_gateway::Config {
        openai: url,
        policy: Policy::Append,
        ..accp_gateway::Config::default()
    };
    let bench = Bench::with(config).await;
    let address = bench.url("").replace("http://", "");
    let mut client = TcpStream::connect(&address).await.unwrap();
    let request = format!(
        "GET /v1/responses HTTP/1.1\r\nhost: {address}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-key: k\r\nauthorization: Bearer t\r\n\r\n"
    );
    client.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await.unwrap());
    }
    assert!(
        head.starts_with(b"HTTP/1.1 101 "),
        "{}",
        String::from_utf8_lossy(&head)
    );
    client.write_all(b"hello").await.unwrap();
    let mut said = Vec::new();
    client.read_to_end(&mut said).await.unwrap();
    assert_eq!(said, b"world");
    let (head, said) = provider.await.unwrap();
    assert_eq!(&said, b"hello");
    assert!(
        head.contains("authorization: bearer t\r\n") && head.contains("upgrade: websocket\r\n"),
        "{head}"
    );
}
