//! Questions that wait for their answers, beside other frames that wait for their handler.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use accp_runtime::profiles::{ScheduleDone, ScheduleReq};
use accp_runtime::session::{Inbound, MemberId, Outbound, Rules, Scope, Time, Transmit};
use accp_runtime::{AgentId, DynamicFrame, ErrorCode, Typed};
use accp_store::{AskError, Driver, DriverError, MemoryStore};

use crate::sessions::sides::{NOW, options, plan, rules};

type Node = Driver<Arc<Mutex<MemoryStore>>, Vec<Transmit>>;

const STEP: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(20);
const DEV: u16 = 101;

/// A host that asks, and a member that answers each request as `answer` says.
pub(crate) struct Pair {
    pub(crate) host: Node,
    member: Node,
}

impl Pair {
    pub(crate) fn new(rules: Rules) -> Self {
        let store = || Arc::new(Mutex::new(MemoryStore::new()));
        let mut host = Driver::open_host(store(), vec![], options("hub"), rules, NOW).unwrap();
        host.join(&AgentId::new("dev").unwrap(), NOW).unwrap();
        let member = Driver::open_member(store(), vec![], options("dev"), NOW).unwrap();
        Self { host, member }
    }

    /// The host asks. The member answers a request with the frames that `answer` returns for it.
    pub(crate) fn asks(
        &mut self,
        question: &Outbound<'_>,
        answer: impl Fn(&Inbound) -> Vec<Outbound<'static>>,
    ) -> Result<Inbound, AskError> {
        let Self { host, member } = self;
        let mut clock = host.session().now();
        host.ask(question, PATIENCE, clock, |host, _| {
            clock = clock + STEP;
            Self::turn(host, member, clock, &answer)?;
            Ok(clock)
        })
    }

    fn turn(
        host: &mut Node,
        member: &mut Node,
        now: Time,
        answer: &impl Fn(&Inbound) -> Vec<Outbound<'static>>,
    ) -> Result<(), DriverError> {
        let down: Vec<_> = host.link_mut().drain(..).collect();
        member.receive_all(MemberId::HOST, down, now)?;
        member.serve(now, |inbound| Ok(answer(inbound)))?;
        let up: Vec<_> = member.link_mut().drain(..).collect();
        host.receive_all(MemberId::new(DEV).unwrap(), up, now)
    }
}

/// Returns the number that a frame says.
fn number(inbound: &Inbound) -> i64 {
    let rest = inbound.text().split_once("n:").map(|(_, rest)| rest);
    let digits = rest.and_then(|rest| rest.split(['|', '}']).next());
    digits.map_or(0, |digits| digits.parse().unwrap_or_default())
}

/// Returns an answer for a handler to return.
fn says(intent: &str, operation: &'static str, n: i64) -> Outbound<'static> {
    let message = DynamicFrame::new("dev", intent, operation).unwrap();
    Outbound::owned_message(message.with("n", n))
}

fn done(task: &str) -> ScheduleDone<'static> {
    ScheduleDone::new(task.to_owned())
}

fn task(text: String) -> ScheduleReq<'static> {
    ScheduleReq::new(AgentId::new("dev").unwrap(), text).priority("high")
}

/// The long answer arrives complete, under each numbering, with and without a named chain. Frames that the member sends
/// on its own initiative wait for the handler.
#[test]
fn a_question_gets_its_answer() {
    for (scope, chain) in [
        (Scope::Shared, None),
        (Scope::Sender, None),
        (Scope::Sender, Some("sprint")),
    ] {
        let mut pair = Pair::new(rules(scope));
        let long = "a long report, ".repeat(30);
        let question = task(long.clone());
        let mut question = Outbound::frame(&question);
        if let Some(chain) = chain {
            question = question.in_chain(chain);
        }
        let answer = |_: &Inbound| {
            vec![
                says("sync", "note", 0),
                says("wait", "schedule", 0),
                Outbound::owned(done(&long)),
            ]
        };
        let answer = pair.asks(&question, answer).unwrap();
        let answer: Typed<'_, ScheduleDone<'_>> = answer.decode().unwrap();
        assert_eq!(
            (answer.agent.as_str(), &*answer.frame.task),
            ("dev", &*long)
        );
        let mut others = Vec::new();
        let now = pair.host.session().now();
        let handled = pair.host.serve(now, |inbound| {
            others.push(
                inbound
                    .text()
                    .split('{')
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
            );
            Ok(vec![])
        });
        handled.unwrap();
        assert_eq!(others, ["@dev>sync:note", "@dev>wait:schedule"]);
    }
}

/// Each of two questions of one chain gets its own answer.
#[test]
fn an_answer_to_another_question() {
    let mut pair = Pair::new(Rules::default());
    let [first, second] = [1, 2].map(|n| plan("hub", n));
    pair.host
        .send(&Outbound::message(&first).in_chain("c"), NOW)
        .unwrap();
    let answer = |frame: &Inbound| vec![says("done", "plan", number(frame))];
    let got = pair
        .asks(&Outbound::message(&second).in_chain("c"), answer)
        .unwrap();
    assert!(got.text().contains("{n:2}"), "{}", got.text());
}

/// A question has no answer if the reply is a failure, if the host refuses the frame, if the chain
/// was cancelled, and if nobody replies.
#[test]
fn a_question_without_an_answer() {
    let question = plan("hub", 1);
    let question = Outbound::message(&question);
    let mut pair = Pair::new(Rules::default());
    let failed = pair
        .asks(&question, |_| vec![says("fail", "plan", 0)])
        .unwrap_err();
    assert!(matches!(&failed, AskError::Failed(answer) if answer.text().contains(">fail:plan{")));

    let silent = pair.asks(&question, |_| vec![]).unwrap_err();
    assert!(matches!(silent, AskError::Timeout(PATIENCE)));
    assert_eq!(silent.code(), Some(ErrorCode::TIMEOUT));
    insta::assert_snapshot!(silent, @"E3001: no answer within 20s");

    let refused = DynamicFrame::new("hub", "ack", "plan").unwrap();
    let refused = pair
        .asks(&Outbound::message(&refused), |_| vec![])
        .unwrap_err();
    assert!(
        matches!(refused, AskError::Driver(DriverError::Input(_))),
        "{refused:?}"
    );
}

/// The host refuses the question of a member. After a refusal that allows a retry, the question goes out under a
/// new id and gets its answer. After a refusal for good, the error has the code of the refusal.
#[test]
fn a_question_of_a_member() {
    let store = || Arc::new(Mutex::new(MemoryStore::new()));
    let mut host =
        Driver::open_host(store(), vec![], options("hub"), Rules::default(), NOW).unwrap();
    host.join(&AgentId::new("dev").unwrap(), NOW).unwrap();
    let mut member = Driver::open_member(store(), vec![], options("dev"), NOW).unwrap();
    for round in 1..9 {
        let now = NOW + STEP * round;
        member.carry_out(now).unwrap();
        let up: Vec<_> = member.link_mut().drain(..).collect();
        host.receive_all(MemberId::new(DEV).unwrap(), up, now)
            .unwrap();
        host.carry_out(now).unwrap();
        let down: Vec<_> = host.link_mut().drain(..).collect();
        member.receive_all(MemberId::HOST, down, now).unwrap();
    }
    for (code, retry) in [("E9999", true), ("E2001", false)] {
        let mut clock = member.session().now();
        let mut is_refused = false;
        let question = plan("dev", 1);
        let asked = member.ask(&Outbound::message(&question), PATIENCE, clock, |member, _| {
            clock = clock + STEP;
            let mut up: Vec<_> = member.link_mut().drain(..).collect();
            let plan = up.iter().position(|frame| frame.text.contains(">req:plan{"));
            if let Some(at) = plan.filter(|_| !is_refused) {
                is_refused = true;
                let text = up.remove(at).text;
                let mid = text.split_once("[mid:").unwrap().1.split(',').next().unwrap();
                let error = format!(
                    "@hub>fail:error{{code:{code}|msg:no|retry:{retry}|schema:ER}}[mid:910000000099,seq:3,of:{mid}]"
                );
                member.receive(MemberId::HOST, error.as_bytes(), clock)?;
            }
            host.receive_all(MemberId::new(DEV).unwrap(), up, clock)?;
            host.serve(clock, |_| Ok(vec![says("done", "plan", 0).by("hub")]))?;
            let down: Vec<_> = host.link_mut().drain(..).collect();
            member.receive_all(MemberId::HOST, down, clock)?;
            Ok(clock)
        });
        match asked {
            Ok(answer) => assert!(retry && answer.text().contains(">done:plan{")),
            Err(error) => assert!(
                !retry && error.code() == Some(ErrorCode::REF_NOT_FOUND),
                "{error}"
            ),
        }
    }
}
