//! The 16 error codes of the draft (section 3.6), each from a session.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use accp_runtime::profiles::{ErrorFail, ToolReq};
use accp_runtime::session::{Inbound, Outbound, Rules, ToolFault, Tools};
use accp_runtime::{ErrorCode, Map, Value};
use accp_store::AskError;
use serde_json::Value as Json;

use crate::sessions::asks::Pair;
use crate::sessions::sides::{NOW, Node, counting, frame, open_host, plan};

/// Returns the codes with which a host answers frames.
fn of_a_host() -> Vec<ErrorCode> {
    let mut host = open_host(counting("hub"), Rules::default());
    host.takes(101, &frame("@dev>req:plan{}", 1, 1, ""));
    let digest = "a32838af3ff6a9ed0a9614b88164be36798497e40a478e0cca3f7952aa6fa492";
    let put = format!("@dev>sync:put{{keys:[[k101_1,{digest},60]]}}");
    host.takes(101, &frame(&put, 2, 2, ""));
    host.expire(&["k101_1"], NOW);
    host.carries_out(NOW);
    let many: Vec<_> = (1..=65)
        .map(|n| format!("[k101_{n},{digest},60]"))
        .collect();
    let many = format!("@dev>sync:put{{keys:[{}]}}", many.join(","));
    let refused = [
        frame("@dev>req:plan{a:[}", 9, 3, ""),
        frame("@dev>fly:plan{}", 9, 3, ""),
        frame("@dev>req:plan{schema:XX}", 9, 3, ""),
        frame("@dev>req:schedule{asgn:dev|task:~|schema:TA}", 20, 3, ""),
        frame("@dev>req:plan{of:$cold.k101_9}", 10, 3, ""),
        frame("@dev>req:plan{of:$cold.k101_1}", 11, 3, ""),
        frame(&many, 12, 3, ""),
        frame("@dev>req:plan{a:1}", 1, 3, ""),
        frame("@dev>req:plan{}", 13, 7, ""),
        frame("@qa>req:plan{}", 14, 3, ""),
        frame("@dev>req:plan{of:$ext.s2.k101_1}", 15, 3, ""),
    ];
    refused
        .iter()
        .map(|text| host.refuses(101, text).code)
        .collect()
}

/// Returns the error that answers a call of this tool.
fn of_a_tool(name: &str, cents: &str) -> ErrorFail<'static> {
    let tools = Tools::<()>::new()
        .on("pay", |(), pay: BTreeMap<String, u8>| {
            let cents = pay["cents"].checked_sub(1);
            Ok(cents.ok_or_else(|| std::io::Error::other("nothing is left"))?)
        })
        .on("crash", |(), _: Json| {
            let fault = ToolFault::new(ErrorCode::INTERNAL_ERROR, "the disk is full");
            Err::<u64, _>(fault)
        });
    let mut arguments = Map::new();
    arguments.insert("cents", Value::from(cents.to_owned()));
    if let Ok(cents) = cents.parse::<i64>() {
        arguments.insert("cents", cents.into());
    }
    let call = ToolReq {
        tool_name: name.into(),
        arguments: Some(arguments),
    };
    let answer = |inbound: &Inbound| {
        let call = inbound.decode::<ToolReq<'_>>().unwrap().frame;
        vec![tools.answer(&mut (), &call)]
    };
    let mut pair = Pair::new(Rules::default());
    match pair.asks(&Outbound::frame(&call), answer) {
        Err(AskError::Failed(answer)) => {
            let error = answer.decode::<ErrorFail<'_>>().unwrap().frame;
            ErrorFail {
                code: error.code.into_owned().into(),
                msg: error.msg.into_owned().into(),
                tool_name: error.tool_name.map(|name| name.into_owned().into()),
                retry: error.retry,
                expected_sequence: None,
                version: None,
                field: None,
                at: None,
                holder: None,
                sequence: None,
                escalate_to: None,
            }
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_tool_answers_with_its_code() {
    let mut said = String::new();
    for (name, cents) in [("pya", "1"), ("pay", "much"), ("pay", "0"), ("crash", "1")] {
        let error = of_a_tool(name, cents);
        assert_eq!(error.tool_name.as_deref(), Some(name));
        let code: ErrorCode = error.code.parse().unwrap();
        assert_eq!(Some(error.retry), code.is_retryable());
        writeln!(said, "{}: {}", error.code, error.msg).unwrap();
    }
    insta::assert_snapshot!(said, @r#"
    E4001: there is no tool pya; did you mean pay?
    E4003: cents: invalid type: string "much", expected u8
    E4002: nothing is left
    E9999: the disk is full
    "#);
}

#[test]
fn every_code_comes_from_a_session() {
    let mut codes: BTreeSet<_> = of_a_host().iter().map(ErrorCode::to_string).collect();
    for (name, cents) in [("pya", "1"), ("pay", "much"), ("pay", "0"), ("crash", "1")] {
        codes.insert(of_a_tool(name, cents).code.into_owned());
    }
    let mut pair = Pair::new(Rules::default());
    let silent = pair.asks(&Outbound::message(&plan("hub", 1)), |_| vec![]);
    codes.extend(silent.unwrap_err().code().map(|code| code.to_string()));
    let all: BTreeSet<_> = ErrorCode::ALL.iter().map(ErrorCode::to_string).collect();
    assert_eq!(codes, all);
}
