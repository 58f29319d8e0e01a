//! The code paths whose instructions CI counts. `benches/compare` compares the counts with those of the previous
//! commit.
//!
//! Without an argument it prints the names of the paths. With a name and a number it runs that path this many times.

#[expect(dead_code, reason = "the benches of sessions use the rest")]
#[path = "../../src/talk.rs"]
mod talk;

use std::borrow::Cow;
use std::hint::black_box;
use std::sync::Arc;

use accp_runtime::view::View;
use accp_runtime::{
    AccpFrame, AgentId, DynamicFrame, EncodeOptions, Frame, Registry, TokenCounter as _, Typed,
};
use accp_tokens::Bpe;
use talk::Counter;

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
struct ScheduleTask<'a> {
    assignee: AgentId<'a>,
    task: Cow<'a, str>,
    priority: Cow<'a, str>,
    deadline: Option<Cow<'a, str>>,
    deps: Vec<Cow<'a, str>>,
}

const FRAME: &str = "@planner>req:schedule{asgn:dev|task:impl_auth_module|pri:high|dead:sprint_14\
    |deps:[design_review,db_schema]|schema:TA}[mid:100001000008,seq:8,ts:1714000000,\
    cid:100001000001,aid:100001000007,sid:abc-session,ttl:300]";
/// The same frame with its keys in another order.
const SHUFFLED: &str = "@planner>req:schedule{schema:TA|deps:[design_review,db_schema]|pri:high\
    |task:impl_auth_module|dead:sprint_14|asgn:dev}[ttl:300,sid:abc-session,seq:8,mid:100001000008,\
    aid:100001000007,ts:1714000000,cid:100001000001]";
/// A page of prose and code: this file.
const PAGE: &str = include_str!("main.rs");

/// A path: its name, and a function that runs it a given number of times.
type Path = (&'static str, fn(u64));

const PATHS: &[Path] = &[
    ("decode, in the writer's order", |times| {
        for _ in 0..times {
            black_box(Typed::<ScheduleTask<'_>>::decode(black_box(FRAME)).expect("valid"));
        }
    }),
    ("decode, in another order", |times| {
        for _ in 0..times {
            black_box(Typed::<ScheduleTask<'_>>::decode(black_box(SHUFFLED)).expect("valid"));
        }
    }),
    ("encode into a new buffer", |times| {
        let typed = Typed::<ScheduleTask<'_>>::decode(FRAME).expect("valid");
        for _ in 0..times {
            black_box(typed.encode().expect("written"));
        }
    }),
    ("encode into a buffer that is there", |times| {
        let typed = Typed::<ScheduleTask<'_>>::decode(FRAME).expect("valid");
        let mut text = String::with_capacity(1024);
        for _ in 0..times {
            text.clear();
            typed
                .encode_into(&mut text, EncodeOptions::default())
                .expect("written");
            black_box(&text);
        }
    }),
    ("dynamic frame, decode", |times| {
        for _ in 0..times {
            black_box(DynamicFrame::decode(black_box(FRAME), Registry::shared()).expect("valid"));
        }
    }),
    ("dynamic frame, encode", |times| {
        let frame = DynamicFrame::decode(FRAME, Registry::shared()).expect("valid");
        for _ in 0..times {
            black_box(frame.encode(Registry::shared()).expect("written"));
        }
    }),
    ("validate by the grammar", |times| {
        for _ in 0..times {
            black_box(Frame::parse(black_box(FRAME)).expect("valid"));
        }
    }),
    ("count a frame", |times| {
        let counter = Bpe::o200k_base();
        for _ in 0..times {
            black_box(counter.count(black_box(FRAME)));
        }
    }),
    // A page takes as long as a hundred frames. So the path counts one page for each ten of `times`.
    ("count a page, a tenth", |times| {
        let counter = Bpe::o200k_base();
        for _ in 0..times / 10 {
            black_box(counter.count(black_box(PAGE)));
        }
    }),
    ("receive", |times| receive(times, &None)),
    ("receive with counts", |times| {
        receive(times, &Some(Arc::new(Bpe::o200k_base())));
    }),
    ("view, write", |times| {
        let view = View::new(Arc::new(Registry::standard()));
        let frame = DynamicFrame::decode(FRAME, Registry::shared()).expect("valid");
        for _ in 0..times {
            black_box(view.block(black_box(&frame)));
        }
    }),
    ("view, read", |times| {
        let view = View::new(Arc::new(Registry::standard()));
        let frame = DynamicFrame::decode(FRAME, Registry::shared()).expect("valid");
        let text = view.block(&frame).text;
        for _ in 0..times {
            black_box(view.read(black_box(&text)).expect("valid"));
        }
    }),
];

/// Lets a host take `times` frames.
fn receive(times: u64, counter: &Counter) {
    let (mut host, member) = talk::host_with_member(counter);
    let texts: Vec<String> = (1..=times).map(talk::frame).collect();
    for texts in texts.chunks(64) {
        talk::take(&mut host, member, texts, |batch| {
            black_box(batch);
        });
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let Some(name) = args.next() else {
        for (name, _) in PATHS {
            println!("{name}");
        }
        return;
    };
    let times = args.next().and_then(|times| times.parse().ok());
    let times = times.expect("a number of times");
    let path = PATHS.iter().find(|(known, _)| *known == name);
    path.expect("the name of a path").1(times);
}
