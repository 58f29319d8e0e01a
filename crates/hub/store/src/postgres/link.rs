//! The connection to the database: several statements in one round trip.

use std::collections::HashMap;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use futures_util::future::maybe_done;
use tokio::runtime::{Handle, Runtime};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

use super::fault::Fault;

/// A parameter of a statement.
pub(super) type Param<'p> = Box<dyn ToSql + Sync + Send + 'p>;

/// A step of a flight. A flight is one round trip that runs several steps.
pub(super) enum FlightStep<'p> {
    /// A statement without parameters and rows.
    Plain(&'static str),
    /// A statement that is prepared at its first use.
    Query(&'static str, Vec<Param<'p>>),
}

/// A connection, and the runtime that drives it while a call waits.
pub(super) struct Link {
    /// `None` once the connection is closed.
    runtime: Option<Runtime>,
    client: Client,
    statements: HashMap<&'static str, Statement>,
    /// The longest time of a flight.
    patience: Duration,
    flights: u64,
}

impl Link {
    pub(super) fn new(runtime: Runtime, client: Client, patience: Duration) -> Self {
        Self {
            runtime: Some(runtime),
            client,
            statements: HashMap::new(),
            patience,
            flights: 0,
        }
    }

    pub(super) fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// Returns how many times the store has waited for the database.
    pub(super) fn flights(&self) -> u64 {
        self.flights
    }

    /// Sends all steps at once, in their order, and waits for all answers. Returns the rows of each step. When a step
    /// fails, its transaction fails: a `COMMIT` after that step rolls back.
    pub(super) fn flight(&mut self, steps: &[FlightStep<'_>]) -> Result<Vec<Vec<Row>>, Fault> {
        self.prepare(steps)?;
        self.flights += 1;
        let (client, statements) = (&self.client, &self.statements);
        let answers = steps.iter().map(|step| async move {
            match step {
                FlightStep::Plain(sql) => client.batch_execute(sql).await.map(|()| Vec::new()),
                FlightStep::Query(sql, params) => {
                    let params = params.iter().map(|param| &**param as &(dyn ToSql + Sync));
                    let params: Vec<_> = params.collect();
                    match statements.get(sql) {
                        Some(statement) => client.query(statement, &params).await,
                        None => client.query(*sql, &params).await,
                    }
                }
            }
        });
        let answers = self.wait(in_order(answers.collect()))?;
        let rows: Result<_, _> = answers.into_iter().collect();
        Ok(rows?)
    }

    fn prepare(&mut self, steps: &[FlightStep<'_>]) -> Result<(), Fault> {
        let mut lacking: Vec<&'static str> = Vec::new();
        for step in steps {
            if let FlightStep::Query(sql, _) = step
                && !self.statements.contains_key(sql)
                && !lacking.contains(sql)
            {
                lacking.push(sql);
            }
        }
        if lacking.is_empty() {
            return Ok(());
        }
        self.flights += 1;
        let prepared = lacking.iter().map(|sql| self.client.prepare(sql));
        let prepared = self.wait(in_order(prepared.collect()))?;
        for (sql, statement) in lacking.into_iter().zip(prepared) {
            self.statements.insert(sql, statement?);
        }
        Ok(())
    }

    /// Waits for the database, at most for the time of `patience`.
    pub(super) fn wait<T>(&self, work: impl Future<Output = T>) -> Result<T, Fault> {
        let Some(runtime) = &self.runtime else {
            return Err(Fault::Io("the store is closed: open it anew".into()));
        };
        wait(runtime, self.patience, work)
    }

    /// Closes the connection.
    pub(super) fn close(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Asynchronous code may not drop a runtime, but it may shut one down in this way.
            runtime.shutdown_background();
        }
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").finish_non_exhaustive()
    }
}

/// Drives work to its end, but not for longer than `patience`.
pub(super) fn wait<T>(
    runtime: &Runtime,
    patience: Duration,
    work: impl Future<Output = T>,
) -> Result<T, Fault> {
    check_thread()?;
    let result = runtime.block_on(async { tokio::time::timeout(patience, work).await });
    result.map_err(|_| {
        Fault::Io(format!(
            "the database has not answered for {} s: check it and the way to it, then open the store \
             anew",
            patience.as_secs()
        ))
    })
}

/// Checks that the thread runs no asynchronous code.
pub(super) fn check_thread() -> Result<(), Fault> {
    if Handle::try_current().is_err() {
        return Ok(());
    }
    let text = "a store may not be called by asynchronous code, which it would hold up: put it \
                behind a `Committer`";
    Err(Fault::Io(text.into()))
}

/// Drives all futures at once. Each sends its request when it is polled for the first time, so that
/// requests leave in their order.
async fn in_order<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    let mut all: Vec<Pin<Box<_>>> = futures
        .into_iter()
        .map(|future| Box::pin(maybe_done(future)))
        .collect();
    poll_fn(|context| {
        let mut ready = true;
        for one in &mut all {
            ready &= one.as_mut().poll(context).is_ready();
        }
        if ready {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    let outputs = all.iter_mut().map(|one| one.as_mut().take_output());
    outputs.flatten().collect()
}
