//! The bank: a member of the session, in its own process. It gets frames on its standard input, and sends frames on
//! its standard output.

use std::path::Path;

use accp_runtime::AgentId;
use accp_runtime::session::{MemberId, Options, Outbound, Transmit};
use accp_store::{Driver, SqliteStore};

use crate::Result;
use crate::frames::{REGISTRY_JSON, RefundDone, RefundReq};
use crate::link::{lines, next, now};

/// The table of payments, in the same file as the bank's session.
const PAID: &str = "CREATE TABLE IF NOT EXISTS app_paid (order_id TEXT, amount TEXT)";

/// Runs the bank until its input ends.
pub fn run(folder: &Path) -> Result<()> {
    let file = folder.join("bank.accp");
    let options = Options::from_json("refunds", AgentId::new("bank")?, REGISTRY_JSON)?;
    let link = Vec::<Transmit>::new();
    let mut bank = Driver::open_member(SqliteStore::open(&file)?, link, options, now())?;
    rusqlite::Connection::open(&file)?.execute(PAID, ())?;
    let frames = lines(std::io::stdin());
    loop {
        let mut paid = Vec::new();
        // One commit contains the row, the answer and the mark that the frame is handled.
        bank.serve_with(now(), |inbound, rows| {
            let RefundReq { order, amount, .. } = inbound.decode()?.frame;
            paid.push(format!("pays {amount} for order {order}"));
            let row = [order.clone(), amount.to_string()];
            rows.write(move |tables| {
                tables.execute("INSERT INTO app_paid VALUES (?1, ?2)", row.each_ref())?;
                Ok(())
            });
            Ok(vec![Outbound::owned(RefundDone::new(order))])
        })?;
        // The commit is durable now, and nothing has left this process yet. The lines that are not frames are for the
        // person who watches the demo.
        for line in paid {
            println!("{line}");
        }
        for frame in bank.link_mut().drain(..) {
            println!("{}", frame.text);
        }
        match next(bank.session(), &frames) {
            Ok(Some(frame)) => bank.receive(MemberId::HOST, frame.as_bytes(), now())?,
            Ok(None) => {}
            Err(_) => return Ok(()),
        }
    }
}
