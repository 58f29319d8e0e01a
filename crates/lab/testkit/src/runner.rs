//! The driver of a side, which blocks or is asynchronous.

use std::future::Future as _;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use accp_frame::{AgentId, DynamicFrame, Value};
use accp_session::{MemberId, Mid, Options, Outbound, Reference, Rules, Session, Time, Transmit};
use accp_store::{AsyncDriver, Committer, Driver, DriverError, Link, Outcome, SideId, Store};

/// The driver of a [`Side`](crate::Side). Its methods are those of [`Driver`] and [`AsyncDriver`].
///
/// The runner waits for the calls of an `AsyncDriver`. It drops many calls before they are done, because programs
/// do that too, and then calls again.
#[derive(Debug)]
pub enum Runner<S, L> {
    /// The driver that blocks.
    Blocking(Box<Driver<S, L>>),
    /// The driver for asynchronous code, with a committer of its own.
    Awaiting(Box<AsyncDriver<L>>),
}

/// Calls a method of the driver.
macro_rules! forward {
    ($runner:expr, $driver:ident => $call:expr) => {
        match $runner {
            Runner::Blocking($driver) => $call,
            Runner::Awaiting($driver) => $call,
        }
    };
}

impl<S: Store + Send + 'static> Runner<S, Vec<Transmit>> {
    /// Opens a side with a driver for asynchronous code: as the host, if there are rules for it.
    pub(crate) fn awaiting(
        store: S,
        options: &Options,
        rules: Option<&Rules>,
        now: Time,
    ) -> Result<Self, DriverError> {
        let committer = Committer::new(store)?;
        let driver = again(async || {
            let (link, options) = (Vec::new(), options.clone());
            match rules.cloned() {
                Some(rules) => AsyncDriver::open_host(&committer, link, options, rules, now).await,
                None => AsyncDriver::open_member(&committer, link, options, now).await,
            }
        });
        Ok(Self::Awaiting(Box::new(driver?)))
    }
}

impl<S: Store, L: Link> Runner<S, L> {
    /// Opens a side with a driver that blocks: as the host, if there are rules for it.
    pub(crate) fn blocking(
        store: S,
        link: L,
        options: Options,
        rules: Option<Rules>,
        now: Time,
    ) -> Result<Self, DriverError> {
        let driver = match rules {
            Some(rules) => Driver::open_host(store, link, options, rules, now),
            None => Driver::open_member(store, link, options, now),
        };
        Ok(Self::Blocking(Box::new(driver?)))
    }

    /// See [`Driver::session`].
    pub fn session(&self) -> &Session {
        forward!(self, driver => driver.session())
    }

    /// See [`Driver::session_mut`].
    pub fn session_mut(&mut self) -> Result<&mut Session, DriverError> {
        forward!(self, driver => driver.session_mut())
    }

    /// See [`Driver::side`].
    pub fn side(&self) -> &SideId {
        forward!(self, driver => driver.side())
    }

    /// See [`Driver::link_mut`].
    pub fn link_mut(&mut self) -> &mut L {
        forward!(self, driver => driver.link_mut())
    }

    /// See [`Driver::receive`].
    pub fn receive(&mut self, from: MemberId, frame: &[u8], now: Time) -> Result<(), DriverError> {
        forward!(self, driver => driver.receive(from, frame, now))
    }

    /// See [`Driver::receive_all`].
    pub fn receive_all(
        &mut self,
        from: MemberId,
        frames: impl IntoIterator<Item = Transmit>,
        now: Time,
    ) -> Result<(), DriverError> {
        let mut frames = frames.into_iter();
        frames.try_for_each(|frame| self.receive(from, frame.text.as_bytes(), now))
    }

    /// See [`Driver::join`].
    pub fn join(&mut self, agent: &AgentId<'_>, now: Time) -> Result<MemberId, DriverError> {
        forward!(self, driver => driver.join(agent, now))
    }

    /// See [`Driver::send`].
    pub fn send(&mut self, outbound: &Outbound<'_>, now: Time) -> Result<Mid, DriverError> {
        forward!(self, driver => driver.send(outbound, now))
    }

    /// See [`Driver::carry_out`].
    pub fn carry_out(&mut self, now: Time) -> Result<Outcome, DriverError> {
        match self {
            Self::Blocking(driver) => driver.carry_out(now),
            Self::Awaiting(driver) => again(async || driver.carry_out(now).await),
        }
    }

    /// See [`Driver::read`].
    pub fn read(
        &mut self,
        reference: &Reference<'_>,
    ) -> Result<Option<Value<'static>>, DriverError> {
        match self {
            Self::Blocking(driver) => driver.read(reference),
            Self::Awaiting(driver) => again(async || driver.read(reference).await),
        }
    }

    /// See [`Driver::frames_to_sum_up`].
    pub fn frames_to_sum_up(&mut self) -> Result<Vec<DynamicFrame<'static>>, DriverError> {
        match self {
            Self::Blocking(driver) => driver.frames_to_sum_up(),
            Self::Awaiting(driver) => again(async || driver.frames_to_sum_up().await),
        }
    }

    /// See [`Driver::supply_summary`].
    pub fn supply_summary(
        &mut self,
        checkpoint: u64,
        text: &str,
        now: Time,
    ) -> Result<(), DriverError> {
        match self {
            Self::Blocking(driver) => driver.supply_summary(checkpoint, text, now),
            Self::Awaiting(driver) => {
                again(async || driver.supply_summary(checkpoint, text, now).await)
            }
        }
    }
}

/// Calls `call` until it is done. If a call is still not done after it was woken, drops it and calls again. Each next
/// call is woken twice as often, because a call may begin anew when the one before it was dropped.
fn again<T>(mut call: impl AsyncFnMut() -> T) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut times = 1_u32;
    loop {
        times = times.saturating_mul(2);
        let mut call = pin!(call());
        for _ in 0..times {
            if let Poll::Ready(done) = call.as_mut().poll(&mut context) {
                return done;
            }
            thread::park();
        }
    }
}

/// Lets a thread that waits go on.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
