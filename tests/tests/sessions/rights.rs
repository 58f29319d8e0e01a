//! A member whose rights change while it is in the session.

use std::time::Duration;

use accp_runtime::profiles::{ChatDone, ChatReq};
use accp_runtime::session::{Inbound, Input, MemberId, Outbound};

use crate::sessions::room::Room;
use crate::sessions::sides::Node;

const SHOP: usize = 0;
const LAB: usize = 1;
const BANK: usize = 2;

/// The member has not left the session, so what it was given stays with it, and nobody else works on it.
#[test]
fn a_request_stays_with_the_member_whose_rights_change() {
    for restarts in [false, true] {
        let mut room = Room::new(&["shop", "lab", "bank"]);
        for (index, heads) in [
            (SHOP, vec![]),
            (LAB, vec!["req:chat:CH".to_owned()]),
            (BANK, vec!["*".to_owned()]),
        ] {
            let now = room.now;
            room.members[index].is_taken(Input::Takes(&heads), now);
            room.settle();
            room.pass(Duration::from_secs(10));
        }
        let asked = room.say(SHOP, &Outbound::owned(ChatReq::new("soup?")).to_a_taker());
        let have = |room: &Room, index: usize| room.members[index].inbox.len();
        assert_eq!([LAB, BANK].map(|index| have(&room, index)), [1, 0]);
        let lab = room.members[LAB].id;
        let joined = |room: &Room| {
            let mut members = room.host.session().state().members();
            let found = members.find(|(id, _)| *id == lab);
            found.map(|(_, party)| (party.joined, party.supervisor))
        };
        let (before, _) = joined(&room).unwrap();
        if restarts {
            room.members[LAB].supervises = true;
            room.restart(MemberId::HOST).unwrap();
        } else {
            let agent = room.members[LAB].options.agent.clone();
            assert_eq!(room.let_in(&agent, true).unwrap(), lab);
        }
        room.settle();
        room.pass(Duration::from_secs(60));
        assert_eq!(joined(&room), Some((before, true)));
        assert_eq!([LAB, BANK].map(|index| have(&room, index)), [1, 0]);
        let done = Outbound::owned(ChatDone::new("rye")).in_chain(asked.to_string());
        room.say(LAB, &done);
        let answered = room.members[SHOP].inbox.iter();
        let answers: Vec<_> = answered.map(Inbound::text).collect();
        assert!(
            answers.len() == 1 && answers[0].starts_with("@lab>done:chat{"),
            "{answers:?}"
        );
        room.check_replicas();
    }
}
