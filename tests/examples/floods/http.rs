//! Floods of HTTP requests: hostile bodies and headers, and connections that clients do not end properly.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::each;
use crate::raw::{Raw, now};

/// The number of clients at the same time.
const AT_ONCE: u64 = 64;
const MIB: usize = 1 << 20;

fn head(hub: SocketAddr, more: &str) -> String {
    format!(
        "POST /accp/v1/frames?session=calm HTTP/1.1\r\nHost: {hub}\r\n\
         Content-Type: application/accp\r\n{more}\r\n"
    )
}

/// Reads the status of a request that must fail. Returns true if the hub has answered with an error.
async fn refused(raw: &mut Raw, statuses: &[u16]) -> Result<bool, String> {
    match raw.status().await? {
        // If the hub closes the connection first, its answer may be lost.
        None => Ok(false),
        Some(status) if statuses.contains(&status) => Ok(true),
        Some(other) => Err(format!("the answer is {other}, not one of {statuses:?}")),
    }
}

/// Sends requests, and counts those that the hub has answered with a refusal.
async fn count<F>(
    times: u64,
    at_once: u64,
    each_of: impl Fn(u64) -> F + Send + Sync + 'static,
) -> Result<u64, String>
where
    F: Future<Output = Result<bool, String>> + Send + 'static,
{
    let told = Arc::new(AtomicU64::new(0));
    let counts = Arc::clone(&told);
    each(times, at_once, move |at| {
        let (one, counts) = (each_of(at), Arc::clone(&counts));
        async move {
            counts.fetch_add(u64::from(one.await?), Ordering::Relaxed);
            Ok(())
        }
    })
    .await?;
    Ok(told.load(Ordering::Relaxed))
}

/// Requests whose `Content-Length` is a gigabyte, and whose bodies end after 8 MiB.
pub(crate) async fn declared(hub: SocketAddr, times: u64) -> Result<String, String> {
    let told = count(times, AT_ONCE, move |_| async move {
        let mut raw = Raw::open(hub).await?;
        raw.send(head(hub, "Content-Length: 1073741824\r\n").as_bytes())
            .await;
        let piece = vec![b'x'; MIB];
        for _ in 0..8 {
            if !raw.send(&piece).await {
                break;
            }
        }
        refused(&mut raw, &[413]).await
    });
    Ok(format!("{times} bodies, {} told 413", told.await?))
}

/// Bodies in chunks that never end.
pub(crate) async fn chunked(hub: SocketAddr, times: u64) -> Result<String, String> {
    let told = count(times, AT_ONCE, move |_| async move {
        let mut raw = Raw::open(hub).await?;
        raw.send(head(hub, "Transfer-Encoding: chunked\r\n").as_bytes())
            .await;
        let chunk = [b"4000\r\n".as_slice(), &[b'x'; 0x4000], b"\r\n"].concat();
        for _ in 0..256 {
            if !raw.send(&chunk).await {
                break;
            }
        }
        refused(&mut raw, &[413]).await
    });
    Ok(format!("{times} bodies, {} told 413", told.await?))
}

/// Bodies within the size limit, in chunks of one byte. They look like a frame that ends again and again.
pub(crate) async fn bits(hub: SocketAddr, times: u64) -> Result<String, String> {
    let told = count(times, 4, move |_| async move {
        let mut raw = Raw::open(hub).await?;
        raw.send(head(hub, "Transfer-Encoding: chunked\r\n").as_bytes())
            .await;
        let begin = "@a>stream:infer{d:".bytes();
        let bits = begin.chain(std::iter::repeat_n(b']', 60_000));
        let body: Vec<u8> = bits
            .flat_map(|bit| [b"1\r\n", &[bit, b'\r', b'\n'][..]].concat())
            .collect();
        raw.send(&body).await;
        raw.send(b"0\r\n\r\n").await;
        // A slow machine may need more time than the hub gives a frame. Then the answer is 408.
        refused(&mut raw, &[400, 408]).await
    });
    Ok(format!("{times} bodies, {} told 400 or 408", told.await?))
}

/// Bytes that are not UTF-8, in bodies, paths and headers.
pub(crate) async fn utf8(hub: SocketAddr, times: u64) -> Result<String, String> {
    let told = count(times, AT_ONCE, move |at| async move {
        let mut raw = Raw::open(hub).await?;
        let frame = b"@a>req:note{text:\xff\xfe\xc3(}[mid:f00000000001,seq:1]";
        let body = head(hub, &format!("Content-Length: {}\r\n", frame.len()));
        let get = |path: &[u8], more: &[u8]| {
            let host = format!(" HTTP/1.1\r\nHost: {hub}\r\n");
            [b"GET ", path, host.as_bytes(), more, b"\r\n"].concat()
        };
        let request = match at % 4 {
            0 => [body.as_bytes(), frame].concat(),
            1 => get(b"/accp/v1/sessions/\xff\xfe/state", b""),
            2 => get(b"/accp/v1/sessions/%ff%fe/state", b""),
            _ => get(
                b"/accp/v1/sessions/a/state",
                b"Authorization: Bearer \xff\xfe\r\n",
            ),
        };
        raw.send(&request).await;
        refused(&mut raw, &[400, 404]).await
    });
    Ok(format!("{times} requests, {} told 400 or 404", told.await?))
}

/// Requests with thousands of headers, and requests with very long headers.
pub(crate) async fn headers(hub: SocketAddr, times: u64) -> Result<String, String> {
    let told = count(times, AT_ONCE, move |at| async move {
        let mut raw = Raw::open(hub).await?;
        raw.send(format!("GET /healthz HTTP/1.1\r\nHost: {hub}\r\n").as_bytes())
            .await;
        let header = match at % 2 {
            0 => "X-Many: yes\r\n".repeat(1000),
            _ => format!("X-Long-{at}: {}\r\n", "x".repeat(MIB)),
        };
        for _ in 0..4 {
            if !raw.send(header.as_bytes()).await {
                break;
            }
        }
        raw.send(b"\r\n").await;
        refused(&mut raw, &[431]).await
    });
    Ok(format!("{times} heads, {} told 431", told.await?))
}

/// Requests that stop in the middle of their headers or bodies. The hub has to end them.
pub(crate) async fn halves(hub: SocketAddr, times: u64) -> Result<String, String> {
    let told = count(times, times, move |at| async move {
        let mut raw = Raw::open(hub).await?;
        let half = match at % 4 {
            0 => "GET /healthz HT".to_owned(),
            1 => format!("GET /healthz HTTP/1.1\r\nHost: {hub}\r\nX-Half"),
            2 => head(hub, "Content-Length: 1000\r\n") + "@a>req:note{te",
            _ => head(hub, "Transfer-Encoding: chunked\r\n") + "10\r\n@a>req:n",
        };
        raw.send(half.as_bytes()).await;
        let is_told = refused(&mut raw, &[408]).await?;
        raw.ends().await?;
        Ok(is_told)
    });
    Ok(format!("{times} requests, {} told 408", told.await?))
}

/// Connections that the client drops: at once, in the middle of a request, or after an answer.
pub(crate) async fn dropped(hub: SocketAddr, times: u64) -> Result<String, String> {
    each(times, AT_ONCE, move |at| async move {
        let mut raw = Raw::open(hub).await?;
        let whole = format!("GET /healthz HTTP/1.1\r\nHost: {hub}\r\n\r\n");
        match at % 3 {
            0 => {}
            1 => drop(raw.send(&whole.as_bytes()[..20]).await),
            _ => {
                raw.send(whole.as_bytes()).await;
                if raw.status().await? != Some(200) {
                    return Err("/healthz is not 200".to_owned());
                }
            }
        }
        Ok(())
    })
    .await?;
    Ok(format!("{times} connections"))
}

/// Requests that follow the log. Their clients do not read the answers.
pub(crate) async fn unread(hub: SocketAddr, times: u64) -> Result<String, String> {
    let mut open = Vec::new();
    for _ in 0..times {
        let mut raw = Raw::open(hub).await?;
        let path = "/accp/v1/sessions/calm/frames?after=0&follow=true";
        raw.send(format!("GET {path} HTTP/1.1\r\nHost: {hub}\r\n\r\n").as_bytes())
            .await;
        open.push(raw);
    }
    // The flood waits until the hub has begun each answer. It never reads further.
    for raw in &mut open {
        if raw.status().await? != Some(200) {
            return Err("the log is not there".to_owned());
        }
    }
    Ok(format!("{times} readers"))
}

/// Frames, each for a new session. The hub refuses sessions beyond its limit.
pub(crate) async fn sessions(hub: SocketAddr, times: u64) -> Result<String, String> {
    static NAMED: AtomicU64 = AtomicU64::new(0);
    let told = count(times, AT_ONCE, move |at| async move {
        let mut raw = Raw::open(hub).await?;
        let frame = format!(
            "@a{at}>req:note{{text:x}}[mid:f00000000001,seq:1,ts:{}]",
            now()
        );
        let number = NAMED.fetch_add(1, Ordering::Relaxed);
        let path = format!("/accp/v1/frames?session=flood{number}");
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {hub}\r\nContent-Type: application/accp\r\n\
             Content-Length: {}\r\n\r\n{frame}",
            frame.len()
        );
        raw.send(head.as_bytes()).await;
        match raw.status().await? {
            Some(200) => Ok(false),
            Some(429 | 503) => Ok(true),
            other => Err(format!(
                "a frame for a new session was answered with {other:?}"
            )),
        }
    })
    .await?;
    Ok(format!("{} sessions, {told} told 429 or 503", times - told))
}
