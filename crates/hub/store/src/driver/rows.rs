//! Rows of the application in the commits of a driver.

use accp_session::{Batch, Event, Inbound, Mid, Outbound, Time};

use super::error::{DriverError, Handled};
use super::{Driver, Link, Outcome};
use crate::rows::{Rows, Transactional, Write, WriteRows};

impl<S: Transactional, L: Link> Driver<S, L> {
    /// Serves as [`serve`](Self::serve) does. The handler may also write rows of the application, which are
    /// committed together with the mark of the frame and the frames in answer. So a payment in a table of the
    /// application is made once, even if the process is killed at any moment. A frame with rows is committed
    /// before the next frame is handed out.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use accp_runtime::profiles::TransactionReq;
    /// # use accp_runtime::session::{MemberId, Options, Outbound, Rules, Time, Transmit};
    /// # use accp_runtime::{AgentId, Decimal, DynamicFrame, Registry};
    /// # use accp_store::{Driver, MemoryStore, SqliteStore};
    /// # let now = Time::from_secs(1_714_000_000);
    /// # let registry = Arc::new(Registry::standard());
    /// # let (shop, bank) = (AgentId::new("shop")?, AgentId::new("bank")?);
    /// # let options = |agent: &AgentId<'static>| Options::new("shop", agent.clone(), registry.clone());
    /// # let (link, rules) = (Vec::<Transmit>::new(), Rules::default());
    /// # let (shop_options, bank_options) = (options(&shop), options(&bank));
    /// # let mut shop = Driver::open_host(MemoryStore::new(), link.clone(), shop_options, rules, now)?;
    /// # let id = shop.join(&bank, now)?;
    /// # let store = SqliteStore::open_in_memory()?;
    /// # let mut bank = Driver::open_member(store, link, bank_options, now)?;
    /// # let pay = DynamicFrame::new("shop", "req", "transaction")?
    /// #     .with("transaction_id", "t1").with("amount", Decimal::parse("12.5")?).under("TX");
    /// # shop.send(&Outbound::message(&pay), now)?;
    /// # for _ in 0..4 {
    /// #     shop.serve(now, |_| Ok(vec![]))?;
    /// #     bank.receive_all(MemberId::HOST, shop.link_mut().drain(..), now)?;
    /// bank.serve_with(now, |inbound, rows| {
    ///     let payment = inbound.decode::<TransactionReq>()?.frame;
    ///     rows.write(move |tables| {
    ///         tables.execute("CREATE TABLE IF NOT EXISTS app_paid (id TEXT)", ())?;
    ///         tables.execute("INSERT INTO app_paid VALUES (?1)", [&*payment.transaction_id])?;
    ///         Ok(())
    ///     });
    ///     Ok(vec![])
    /// })?;
    /// #     shop.receive_all(id, bank.link_mut().drain(..), now)?;
    /// # }
    /// # bank.carry_out_with(now, &mut |tables| {
    /// #     let paid = "SELECT group_concat(id) FROM app_paid";
    /// #     assert_eq!(tables.query_row(paid, (), |row| row.get::<_, String>(0))?, "t1");
    /// #     Ok(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`serve`](Self::serve). When the rows cannot be written
    /// ([`StoreErrorKind::Rows`](crate::StoreErrorKind::Rows)), neither they nor the mark are kept,
    /// and the session is put aside.
    pub fn serve_with(
        &mut self,
        now: Time,
        mut handler: impl for<'i> FnMut(&'i Inbound, &mut Rows<'i, S::Transaction>) -> Handled<'i>,
    ) -> Result<Vec<Event>, DriverError> {
        self.take_in(now)?;
        while let Some(inbound) = self.first(now)? {
            let mut rows = Rows::default();
            let answers = handler(&inbound, &mut rows).map_err(DriverError::Handler)?;
            self.machine.handled(&inbound, answers, now)?;
            if !rows.is_empty() {
                let outcome = self.carry_out_with(now, &mut |tables| rows.write_into(tables))?;
                self.keep(outcome);
            }
        }
        self.take_in(now)?;
        Ok(std::mem::take(&mut self.events))
    }

    /// Sends a frame, and commits it together with rows of the application. So a program that was killed can see from
    /// its rows which frames it has sent, and sends none of them twice. Frames and events that arrive during the call
    /// wait for [`serve_with`](Self::serve_with).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use accp_runtime::session::{Options, Outbound, Rules, Time, Transmit};
    /// # use accp_runtime::{AgentId, DynamicFrame, Registry};
    /// # use accp_store::{Driver, SqliteStore};
    /// # let now = Time::from_secs(1_714_000_000);
    /// # let options = Options::new("shop", AgentId::new("shop")?, Arc::new(Registry::standard()));
    /// # let (store, link) = (SqliteStore::open_in_memory()?, Vec::<Transmit>::new());
    /// # let mut shop = Driver::open_host(store, link, options, Rules::default(), now)?;
    /// # shop.carry_out_with(now, &mut |tables| {
    /// #     tables.execute("CREATE TABLE app_asked (question INTEGER)", ())?;
    /// #     Ok(())
    /// # })?;
    /// let question = DynamicFrame::new("shop", "req", "chat")?.with("content", "Where is it?").under("CH");
    /// shop.send_with(&Outbound::message(&question), now, &mut |tables| {
    ///     tables.execute("INSERT INTO app_asked VALUES (1)", ())?;
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`send`](Self::send), after which nothing is written, and those of
    /// [`carry_out_with`](Self::carry_out_with).
    pub fn send_with(
        &mut self,
        outbound: &Outbound<'_>,
        now: Time,
        rows: &mut WriteRows<'_, S::Transaction>,
    ) -> Result<Mid, DriverError> {
        let mid = self.send(outbound, now)?;
        let outcome = self.carry_out_with(now, rows)?;
        self.keep(outcome);
        Ok(mid)
    }

    /// Carries out as [`carry_out`](Self::carry_out) does, with rows of the application in the
    /// first commit. The first commit holds everything that was handed to the session before, such
    /// as the mark of a frame and its replies. See [`Transactional`].
    ///
    /// # Errors
    /// The errors of [`carry_out`](Self::carry_out). When the rows cannot be written, the session
    /// is put aside.
    pub fn carry_out_with(
        &mut self,
        now: Time,
        rows: &mut WriteRows<'_, S::Transaction>,
    ) -> Result<Outcome, DriverError> {
        let mut rows = Some(rows);
        let outcome = self.carry_out_by(now, |store, side, batch| {
            let write = Write {
                rows: rows.take().map(|rows| rows as &mut WriteRows<'_, _>),
                ..Write::new(side, batch)
            };
            store.commit_with(&mut [write])
        })?;
        if let Some(rows) = rows {
            // The session had nothing to commit, so the closure above did not run. The rows are
            // written with an empty batch.
            let nothing = Batch::default();
            let write = Write::new(self.machine.side(), &nothing).with(rows);
            let written = self.store.commit_with(&mut [write]);
            self.machine.check_answer(written)?;
        }
        Ok(outcome)
    }
}
