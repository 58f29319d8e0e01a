//! The desk: it hosts the session, and its model decides what happens to a case.

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;

use accp_runtime::AgentId;
use accp_runtime::profiles::ErrorFail;
use accp_runtime::session::{Inbound, Options, Outbound, Rules};
use accp_store::{Driver, SqliteStore};
use accp_tokens::Bpe;

use crate::frames::{AnyFrame, REGISTRY_JSON};
use crate::link::{connection, now, wait};
use crate::model::Model;
use crate::{Result, SESSION};

/// Runs the desk. It says where it listens, and never ends.
pub fn run(folder: &Path) -> Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    println!("listens on {}", listener.local_addr()?);
    let agent = AgentId::new("desk")?;
    // With a counter the session keeps the context of the model within its budget.
    let options = Options::from_json(SESSION, agent.clone(), REGISTRY_JSON)?;
    let options = options.counting(Arc::new(Bpe::o200k_base()));
    let model = Model::new(agent, options.registry.clone())?;
    let store = SqliteStore::open(folder.join("desk.accp"))?;
    let (link, mut frames) = connection(listener.accept()?.0)?;
    let mut driver = Driver::open_host(store, link, options, Rules::default(), now())?;
    let shop = driver.join(&AgentId::new("shop")?, now())?;
    loop {
        let context = driver.session().context();
        driver.serve(now(), |inbound| match news(inbound)? {
            Some(news) => {
                println!("hears: {news}");
                let frame = model.decide(&context, &news)?;
                Ok(vec![Outbound::owned_message(frame)])
            }
            None => Ok(vec![]),
        })?;
        if !wait(&mut driver, shop, &frames)? {
            // The shop was killed, and connects again.
            (*driver.link_mut(), frames) = connection(listener.accept()?.0)?;
        }
    }
}

/// Returns a text that tells the model about a frame; `None` if there is nothing to decide.
fn news(inbound: &Inbound) -> Result<Option<String>> {
    if let Ok(failed) = inbound.decode::<ErrorFail>() {
        return Ok(Some(format!("Refused. {}.", failed.frame.msg)));
    }
    Ok(match inbound.decode::<AnyFrame>()?.frame {
        AnyFrame::SupportReq(asked) => Some(format!("Case {}: {}", asked.case, asked.text)),
        AnyFrame::LookupDone(found) => Some(format!(
            "Case {}: order {} is a {}, and the customer paid {}.",
            found.case, found.order, found.item, found.paid
        )),
        _ => None,
    })
}
