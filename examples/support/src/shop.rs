//! The shop: it has the customers, the orders and the money.

use std::net::TcpStream;
use std::path::Path;

use accp_runtime::session::{Inbound, MemberId, Options, Outbound};
use accp_runtime::{AgentId, Decimal, ErrorCode};
use accp_store::{Driver, Handled, Rows, SqliteStore};
use rusqlite::Connection;

use crate::frames::{
    AnyFrame, LookupDone, LookupReq, REGISTRY_JSON, RefundDone, RefundReq, SupportEsc,
};
use crate::link::{Wire, connection, now, wait};
use crate::{Result, SESSION, owned};

/// The tables of the shop, in the same file as its session.
const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS app_asked (case_id TEXT);
    CREATE TABLE IF NOT EXISTS app_paid (case_id TEXT, order_id TEXT, amount TEXT);
    CREATE TABLE IF NOT EXISTS app_escalated (case_id TEXT, reason TEXT);";

/// Runs the shop until every question is settled.
pub fn run(folder: &Path, desk: &str) -> Result<()> {
    let file = folder.join("shop.accp");
    let (link, frames) = connection(TcpStream::connect(desk)?)?;
    let options = Options::from_json(SESSION, AgentId::new("shop")?, REGISTRY_JSON)?;
    let mut driver = Driver::open_member(SqliteStore::open(&file)?, link, options, now())?;
    let tables = Connection::open(&file)?;
    tables.execute_batch(TABLES)?;
    let questions = include_str!("../questions.json");
    let questions: Vec<owned::SupportReq> = serde_json::from_str(questions)?;
    loop {
        driver.serve_with(now(), handle)?;
        if driver.session().is_quiet() {
            if let Some(question) = questions.get(count(&tables, "app_asked")?) {
                ask(&mut driver, question)?;
                continue;
            }
            let settled = count(&tables, "app_paid")? + count(&tables, "app_escalated")?;
            if settled == questions.len() {
                return Ok(());
            }
        }
        if !wait(&mut driver, MemberId::HOST, &frames)? {
            return Err("the desk is gone".into());
        }
    }
}

/// Sends a question. The frame and the row are one commit, so no question is lost or sent twice.
fn ask(driver: &mut Driver<SqliteStore, Wire>, question: &owned::SupportReq) -> Result<()> {
    println!("asks about {}", question.case);
    driver.send_with(&Outbound::frame(question), now(), &mut |tables| {
        tables.execute("INSERT INTO app_asked VALUES (?1)", [&question.case])?;
        Ok(())
    })?;
    Ok(())
}

/// Handles a frame of the desk. The rows, the answer and the mark that the frame is handled are one
/// commit, so no money is paid twice.
fn handle<'i>(inbound: &'i Inbound, rows: &mut Rows<'i, Connection>) -> Handled<'i> {
    Ok(match inbound.decode::<AnyFrame>()?.frame {
        AnyFrame::LookupReq(LookupReq { case, order }) => {
            println!("looks up {order}");
            let Some((item, paid)) = find(&order) else {
                let text = format!("case {case}: there is no order {order}");
                return Ok(vec![refusal(text)]);
            };
            vec![Outbound::owned(LookupDone::new(case, order, item, paid))]
        }
        AnyFrame::RefundReq(RefundReq {
            case,
            order,
            amount,
            ..
        }) => {
            if find(&order).is_none_or(|(_, paid)| amount > paid) {
                println!("refuses {amount} for {order}");
                let text = format!("case {case}: order {order} cost less than {amount}");
                return Ok(vec![refusal(text)]);
            }
            println!("pays {amount} for {order}");
            let done = RefundDone::new(case.clone(), amount);
            rows.write(move |tables| {
                let row = [&*case, &*order, &amount.to_string()];
                tables.execute("INSERT INTO app_paid VALUES (?1, ?2, ?3)", row)?;
                Ok(())
            });
            vec![Outbound::owned(done)]
        }
        AnyFrame::SupportEsc(SupportEsc { case, reason }) => {
            println!("hands {case} to a person");
            rows.write(move |tables| {
                tables.execute(
                    "INSERT INTO app_escalated VALUES (?1, ?2)",
                    [&*case, &*reason],
                )?;
                Ok(())
            });
            vec![]
        }
        _ => vec![],
    })
}

/// Returns the ordered item, and the sum that the customer paid.
fn find(order: &str) -> Option<(&'static str, Decimal)> {
    let (item, paid) = match order {
        "A-1042" => ("headset", "59.9"),
        "B-7" => ("lamp", "45"),
        _ => return None,
    };
    Some((item, Decimal::parse(paid).ok()?))
}

fn refusal(text: String) -> Outbound<'static> {
    Outbound::error(ErrorCode::POLICY_DENIED, text)
}

/// Returns the number of rows of a table.
fn count(tables: &Connection, table: &str) -> Result<usize> {
    let sql = format!("SELECT count(*) FROM {table}");
    Ok(tables.query_row(&sql, (), |row| row.get(0))?)
}
