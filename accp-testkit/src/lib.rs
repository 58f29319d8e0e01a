//! A session whose host and members are all here, for tests, benches and demonstrations.
//!
//! A [`Room`] has a clock, a [`Wire`] that fails as links do, and a [`Side`] for the host and for
//! each member: a driver on a store, with what waits to be handled. Where a test wants more, it
//! takes one of these in its own hands: [`Room::on_the_way`] holds or changes frames,
//! [`Room::step`] goes on by one turn, [`Room::restart`] kills a side and opens it again, and a
//! [`Tapped`] store looks at batches, loses or spoils them.
//!
//! ```
//! use std::sync::Arc;
//!
//! use accp_runtime::session::{Options, Outbound, Rules, Time};
//! use accp_runtime::{AgentId, Message, Registry};
//! use accp_testkit::{Room, Shared};
//!
//! let registry = Arc::new(Registry::standard());
//! let options = |agent| Options::new("lunch", agent, registry.clone());
//! let (hub, dev) = (AgentId::new("hub")?, AgentId::new("dev")?);
//!
//! let now = Time::from_secs(1_714_000_000);
//! let mut room = Room::open(Shared::default(), options(hub), Rules::default(), now)?;
//! room.enter(Shared::default(), options(dev))?;
//! let plan = Message::new("hub", "req", "plan")?;
//! room.host.driver.send(&Outbound::message(&plan), room.now)?;
//! assert!(room.rest()?, "nobody has anything to do any more");
//! assert_eq!(room.members[0].inbox.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod rng;
mod room;
mod side;
mod tapped;
mod wire;

pub use rng::Rng;
pub use room::Room;
pub use side::{Shared, Side};
pub use tapped::Tapped;
pub use wire::{Delivery, Faulted, Faults, Wire};
