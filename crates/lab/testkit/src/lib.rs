//! A whole session in one process, for tests, benches and demonstrations.
//!
//! A [`Room`] has a clock, a [`Wire`] that fails as links do, and a [`Side`] for the host and for each member. A side
//! is a driver on a store, blocking or asynchronous, with the frames that wait to be handled. A test can take control
//! of each part: [`Room::on_the_way`] holds or changes frames, [`Room::step`] runs one turn, [`Room::restart`] kills
//! a side and opens it again, and a [`Tapped`] store inspects, loses or spoils batches.
//!
//! ```
//! use std::sync::Arc;
//!
//! use accp_runtime::session::{Options, Outbound, Rules, Time};
//! use accp_runtime::{AgentId, DynamicFrame, Registry};
//! use accp_testkit::{Room, Shared};
//!
//! let registry = Arc::new(Registry::standard());
//! let options = |agent| Options::new("lunch", agent, registry.clone());
//! let (hub, dev) = (AgentId::new("hub")?, AgentId::new("dev")?);
//!
//! let now = Time::from_secs(1_714_000_000);
//! let mut room = Room::open(Shared::default(), options(hub), Rules::default(), now)?;
//! room.enter(Shared::default(), options(dev))?;
//! let plan = DynamicFrame::new("hub", "req", "plan")?;
//! room.host.driver.send(&Outbound::message(&plan), room.now)?;
//! assert!(room.rest()?, "nobody has anything to do any more");
//! assert_eq!(room.members[0].inbox.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod quarters;
mod rng;
mod room;
mod runner;
mod side;
mod tapped;
mod wire;

pub use quarters::Quarters;
pub use rng::Rng;
pub use room::Room;
pub use runner::Runner;
pub use side::{Shared, Side};
pub use tapped::Tapped;
pub use wire::{Delivery, Faulted, Faults, Wire};
