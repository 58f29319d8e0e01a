//! Makes the world of a run from its seed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use accp_runtime::session::{LogKey, Rules, Scope, Time};
use accp_testkit::{Rng, Room, Wire};

use super::World;
use super::copies::Copies;
use super::counts::Counts;
use super::disks::{Disks, begin_without_key};
use super::node::{Node, Result, said};
use super::observer::Observer;
use super::plan::{RunPlan, Trim};
use super::tape::Tape;

impl World {
    pub(super) fn new(seed: u64, trim: &Trim, script: bool) -> Result<Self> {
        let mut rng = Rng::new(seed);
        let mut plan = RunPlan::new(&mut rng);
        // Only the seed decides whether members speak the draft alone. A random number would change the run of
        // every seed.
        plan.drafts = trim.drafts && plan.scope == Scope::Shared && seed.is_multiple_of(3);
        plan.trim(trim);
        let nodes: Vec<_> = (0..=plan.members)
            .map(|who| Node::new(who, &plan))
            .collect();
        let tape = Tape::new(Rng::new(rng.next_u64()));
        let mut secret = [0; 32];
        secret[..8].copy_from_slice(&rng.next_u64().to_le_bytes());
        let rules = Rules {
            learn_schemas: plan.brings,
            scope: plan.scope,
            skew: Duration::from_secs(plan.tolerance),
            key: (!plan.keyless).then(|| LogKey::new(secret)),
            groups: plan.group_limits(),
            late_summaries: seed.is_multiple_of(2),
            ..Rules::default()
        };
        let (options, now) = (nodes[0].options(&plan)?, Time::from_secs(1_714_000_000));
        let mut disks = Disks::new(&plan)?;
        let store = Tape::store(&tape, disks.open(0));
        let begun = if plan.keyless {
            begin_without_key(&store, &options, &rules, now)?
        } else {
            Vec::new()
        };
        let mut room = Room::open(store, options, rules.clone(), now).map_err(said)?;
        if plan.awaited {
            room.host = room.host.awaiting(now).map_err(said)?;
        }
        room.wire = Wire::new(rng.next_u64(), plan.faults);
        let mut world = Self {
            observer: Observer::new(&plan),
            rng,
            room,
            tape,
            nodes,
            said: BTreeMap::new(),
            counts: Counts::of(&plan),
            script: script.then(Vec::new),
            enemy: None,
            weigh: trim.weigh,
            copies: Copies::default(),
            disks,
            rules,
            told: Arc::default(),
            is_whole: false,
            plan,
        };
        for batch in begun {
            world.committed(0, &batch)?;
        }
        world.hook()?;
        for n in 4..9 {
            world.keep_another_session(&format!("other_{n}"))?;
        }
        let plan = format!("{:?}", world.plan);
        world.note(|| plan);
        Ok(world)
    }
}
