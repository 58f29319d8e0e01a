//! A gateway between agents and the API of a model. An agent needs another base URL and nothing else.
//!
//! The gateway reads the list of messages in a request, and gives results of tools a cheaper form, as
//! [`accp_memory::Memory`] does. Everything else of the request stays as it is, to the byte. Answers pass as they
//! come. A [`Ledger`] records what a request has cost, and what it would have cost unchanged.
//!
//! - **Nothing changes without cause.** A request that becomes no smaller goes out as the same bytes. With
//!   [`Policy::Off`] the gateway reads no request.
//! - **A fault of the gateway does not become a fault of the client.** If a request cannot be read, it goes out as it
//!   is, and the ledger says why. If the provider refuses a changed request with 400, the original follows once.
//! - **The gateway keeps no key.** It passes the keys of clients on. A session belongs to the owner of a key. The
//!   ledger knows an owner only by a digest of the key, under a secret of the ledger.
//!
//! ```no_run
//! use accp_gateway::{Config, Gateway, Policy};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let config = Config { policy: Policy::Append, ..Config::default() };
//! let gateway = Gateway::bind(config, "gateway.accp").await?;
//! println!("export ANTHROPIC_BASE_URL={}", gateway.url());
//! gateway.run(std::future::pending()).await?;
//! # Ok(())
//! # }
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

mod answer;
mod arriving;
mod aside;
mod asides;
mod bare;
mod bill;
mod body;
mod branches;
mod config;
mod digest;
mod expand;
mod gateway;
mod headers;
mod json;
mod kept;
mod ledger;
mod list;
mod listen;
mod lock;
mod mark;
mod open;
mod origin;
mod plan;
mod prices;
mod proxy;
mod read;
mod receipt;
mod record;
mod report;
mod route;
mod seal;
mod send;
mod session;
mod splice;
mod state;
mod tool;
mod tunnel;
mod unpack;
mod usage;
mod weave;

pub use bill::Bill;
pub use config::{Config, Keep, Policy};
pub use gateway::{Gateway, GatewayError};
pub use ledger::{Entry, Ledger, LedgerError};
pub use prices::Prices;
pub use receipt::{Receipt, ReceiptError};
pub use report::{By, Report, Row};
pub use route::Provider;
pub use usage::Usage;

/// The example of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
