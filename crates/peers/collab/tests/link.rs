//! A session through a folder: every frame is handled once, also by an agent that is killed and comes back.
#![cfg(feature = "link")]

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use accp_collab::disk::FolderLink;
use accp_frame::{AgentId, DynamicFrame};
use accp_registry::Registry;
use accp_session::{MemberId, Options, Outbound, Rules, Time};
use accp_store::{Driver, MemoryStore};

/// The number of agents. The first agent is the host.
const AGENTS: usize = 10;
/// The number of frames that each agent sends.
const FRAMES: usize = 12;
/// The most rounds in which the agents take turns.
const ROUNDS: i64 = 2_000;

type Store = Arc<Mutex<MemoryStore>>;

/// An agent, and what it has handled: the sender and the task of each frame.
struct Side {
    driver: Driver<Store, FolderLink>,
    store: Store,
    handled: BTreeMap<(String, String), usize>,
    sent: usize,
}

fn name(number: usize) -> String {
    format!("agent-{number}")
}

fn agent(number: usize) -> AgentId<'static> {
    AgentId::new(name(number)).expect("the name fits")
}

fn open(folder: &Path, number: usize, store: Store, now: Time) -> Driver<Store, FolderLink> {
    let mut link = FolderLink::open(folder, &agent(number)).expect("the folder is there");
    let options = Options::new("collab", agent(number), Arc::new(Registry::standard()));
    if number > 0 {
        link.name(MemberId::HOST, &agent(0));
        return Driver::open_member(store, link, options, now).expect("it opens");
    }
    let mut driver =
        Driver::open_host(store, link, options, Rules::default(), now).expect("it opens");
    for other in 1..AGENTS {
        let member = driver.join(&agent(other), now).expect("it joins");
        driver.link_mut().name(member, &agent(other));
    }
    driver
}

impl Side {
    fn turn(&mut self, number: usize, now: Time) {
        let arrived = self
            .driver
            .link_mut()
            .receive()
            .expect("the folder is there");
        for (from, frame) in arrived {
            let from = self.driver.link_mut().number(&from);
            if let Some(from) = from {
                let received = self.driver.receive(from, frame.as_bytes(), now);
                received.expect("the store is sound");
            }
        }
        if self.sent < FRAMES {
            let text = format!("@{}>req:sync{{task:t{}}}", name(number), self.sent);
            let message = DynamicFrame::decode(&text, &Registry::default()).expect("it is a frame");
            // A member that has not joined yet tries again in the next round.
            if self.driver.send(&Outbound::message(&message), now).is_ok() {
                self.sent += 1;
            }
        }
        let handled = &mut self.handled;
        let served = self.driver.serve(now, |inbound| {
            let message = inbound.message(&Registry::default())?;
            if let Some(task) = message.payload.get("task").and_then(|task| task.as_str()) {
                let key = (message.agent.as_str().to_owned(), task.to_owned());
                *handled.entry(key).or_default() += 1;
            }
            Ok(vec![])
        });
        served.expect("the store is sound");
    }
}

#[test]
fn ten_agents_handle_each_frame_once_and_one_is_killed() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path();
    let mut now = Time::from_secs(1_800_000_000);
    let mut sides: Vec<Option<Side>> = (0..AGENTS)
        .map(|number| {
            let store = Store::default();
            Some(Side {
                driver: open(folder, number, store.clone(), now),
                store,
                handled: BTreeMap::new(),
                sent: 0,
            })
        })
        .collect();
    let victim = 4;
    let mut killed = None;
    let expected = |number: usize| {
        let others = (0..AGENTS).filter(|other| *other != number);
        let tasks =
            others.flat_map(|other| (0..FRAMES).map(move |task| (name(other), format!("t{task}"))));
        tasks.map(|key| (key, 1)).collect::<BTreeMap<_, usize>>()
    };
    for round in 0..ROUNDS {
        now = Time::from_millis(now.as_millis() + 500);
        for (number, side) in sides.iter_mut().enumerate() {
            if let Some(side) = side {
                side.turn(number, now);
            }
        }
        // The process ends in the middle of a line. It has not read all frames, and some of its own frames are not
        // acknowledged.
        if round == 9
            && let Some(side) = sides[victim].take()
        {
            let path = folder.join("accp").join(format!("{}.frames", name(victim)));
            let file = OpenOptions::new().append(true).open(path);
            let mut file = file.expect("the file is there");
            write!(file, "agent-0 52 @agent-4>req:sync{{task:t").expect("it writes");
            killed = Some((side.store, side.handled, side.sent));
        }
        if round == 25
            && let Some((store, handled, sent)) = killed.take()
        {
            sides[victim] = Some(Side {
                driver: open(folder, victim, store.clone(), now),
                store,
                handled,
                sent,
            });
        }
        let is_over = sides.iter().enumerate().all(|(number, side)| {
            let side = side.as_ref();
            side.is_some_and(|side| {
                side.sent == FRAMES && side.handled.len() == expected(number).len()
            })
        });
        if is_over && round > 30 {
            break;
        }
    }
    for (number, side) in sides.iter().enumerate() {
        let side = side.as_ref().expect("all are back");
        assert_eq!(side.handled, expected(number), "{}", name(number));
    }
}

#[test]
fn a_reader_goes_on_where_it_has_stopped_and_waits_for_the_end_of_a_line() {
    let dir = tempfile::tempdir().expect("a folder");
    let write = |text: &str| {
        std::fs::create_dir_all(dir.path().join("accp")).expect("it is made");
        let path = dir.path().join("accp/ada.frames");
        let file = OpenOptions::new().create(true).append(true).open(path);
        write!(file.expect("it opens"), "{text}").expect("it writes");
    };
    let bob = AgentId::new("bob").expect("it fits");
    let open = || FolderLink::open(dir.path(), &bob).expect("it opens");
    let mut link = open();
    write("bob 5 hello\nbob 5 wor");
    let frame = |text: &str| vec![("ada".to_owned(), text.to_owned())];
    assert_eq!(link.receive().expect("it reads"), frame("hello"));
    assert_eq!(link.receive().expect("it reads"), []);
    write("ld\neve 3 her\nbob 9 short\n\nbob x y\n");
    assert_eq!(open().receive().expect("it reads"), frame("world"));
    assert_eq!(open().receive().expect("it reads"), []);
}
