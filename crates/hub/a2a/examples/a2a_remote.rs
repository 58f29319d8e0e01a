//! Asks an agent of A2A through a session: `cargo run -p accp-a2a --example a2a_remote -- URL QUESTION...`.
//!
//! The agent `chef` of the session stands for the agent at the URL. For each question, the program prints the
//! pieces of the stream and the answer. It cancels a question that begins with `!` once `chef` has sent a frame.
#![allow(elided_lifetimes_in_paths, reason = "as a program writes it")]

use std::error::Error as StdError;

use accp_a2a::Remote;
use accp_client::{Agent, Error, Hub};
use accp_runtime::Typed;
use accp_runtime::profiles::{ChatDone, ChatReq, InferStream};
use accp_store::MemoryStore;

type Failure = Box<dyn StdError + Send + Sync>;

/// Asks a question, and returns the answer after the pieces that came before it.
async fn ask(boss: &Agent, question: &str) -> Result<String, Failure> {
    let after = boss.look(accp_runtime::session::Session::position).await? + 1;
    let done = boss.ask::<ChatDone>(ChatReq::new(question.to_owned()));
    let answer = match done.await {
        Ok(done) => done.content.into_owned(),
        Err(failed @ Error::Failed(_)) => failed.to_string(),
        Err(other) => return Err(other.into()),
    };
    let mut log = boss.frames(after);
    let (mut pieces, mut chain) = (String::new(), String::new());
    while let Some(entry) = log.next_ready().await? {
        if entry.text.starts_with("@boss>req:") {
            chain = entry.mid.to_string();
        } else if let Ok(piece) = Typed::<InferStream>::decode(&entry.text)
            && piece.envelope.correlation_id.as_deref() == Some(&chain)
        {
            pieces.extend(["[", &piece.frame.data, "]"]);
        }
    }
    Ok(pieces + &answer)
}

/// Asks a question, and cancels it once `chef` has sent a frame.
async fn cancel(boss: &Agent, question: &str) -> Result<(), Failure> {
    let after = boss.look(accp_runtime::session::Session::position).await? + 1;
    let asked = boss.ask::<ChatDone>(ChatReq::new(question.to_owned()));
    let mut log = boss.frames(after);
    let first_frame = async {
        while let Some(entry) = log.next().await? {
            if entry.text.starts_with("@chef>") {
                break;
            }
        }
        Ok::<_, Error>(())
    };
    tokio::select! {
        answer = async { asked.cancelling().await } => Err(format!("answered: {answer:?}").into()),
        seen = first_frame => Ok(seen?),
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments
        .next()
        .ok_or("usage: a2a_remote URL QUESTION...")?;
    let hub = Hub::open("office", MemoryStore::new()).await?;
    let (boss, chef) = (hub.agent("boss")?, hub.agent("chef")?);
    let chef = Remote::connect(chef, url).await?;
    println!("{} answers for {}", chef.agent().name(), chef.name());
    for question in arguments {
        match question.strip_prefix('!') {
            None => println!("{question}: {}", ask(&boss, &question).await?),
            Some(question) => {
                cancel(&boss, question).await?;
                println!("{question}: cancelled");
            }
        }
    }
    Ok(())
}
