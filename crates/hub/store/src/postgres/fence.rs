//! Fences: they show which sides this store runs, and which sides another store has taken from it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio_postgres::Row;

use super::fault::Fault;
use super::link::{FlightStep, Link, Param};
use super::text::{escaped, unescaped};
use crate::error::{StoreError, StoreErrorKind};
use crate::side::SideId;
use crate::store::Lease;

/// The fences of this store.
#[derive(Debug, Default)]
pub(super) struct Fences {
    /// For each side that this store has opened, the number of the side's fence after the opening.
    held: BTreeMap<SideId, i64>,
    /// The sides that another store has opened after this store.
    lost: BTreeSet<SideId>,
}

/// Locks the rows of sides that this store runs, always in the order of the key, so that two
/// transactions do not wait for each other.
const LOCK: &str = "SELECT l.session, l.agent, l.fence
    FROM unnest($1::text[], $2::text[]) u (session, agent)
    JOIN accp_lease l ON l.session = u.session AND l.agent = u.agent
    ORDER BY l.session, l.agent FOR NO KEY UPDATE OF l";

/// Locks the rows of sides, and adds to the fence of each side its step from the third array. Makes missing rows.
const RAISE: &str = r#"INSERT INTO accp_lease AS l (session, agent, fence)
    SELECT u.session, u.agent, u.step
    FROM unnest($1::text[], $2::text[], $3::bigint[]) u (session, agent, step)
    ORDER BY u.session COLLATE "C", u.agent COLLATE "C"
    ON CONFLICT (session, agent) DO UPDATE SET fence = l.fence + excluded.fence
    RETURNING session, agent, fence"#;

impl Fences {
    /// Returns the step that locks the rows of sides in a transaction that writes. For sides that this store has not
    /// opened, the step also raises the fence, which opens the side.
    pub(super) fn lock(&self, sides: &BTreeSet<&SideId>) -> FlightStep<'static> {
        let steps: Vec<i64> = sides
            .iter()
            .map(|side| i64::from(!self.held.contains_key(*side)))
            .collect();
        let mut params = names(sides.iter().copied());
        if steps.iter().all(|step| *step == 0) {
            return FlightStep::Query(LOCK, params);
        }
        params.push(Box::new(steps));
        FlightStep::Query(RAISE, params)
    }

    /// Returns the step that raises the fence of one side.
    pub(super) fn raise(side: &SideId) -> FlightStep<'static> {
        let mut params = names([side].into_iter());
        params.push(Box::new(vec![1_i64]));
        FlightStep::Query(RAISE, params)
    }

    /// Returns the step that locks the existing rows of these sides, and raises no fence.
    pub(super) fn lock_only(sides: &BTreeSet<&SideId>) -> FlightStep<'static> {
        FlightStep::Query(LOCK, names(sides.iter().copied()))
    }

    /// Compares the fences in the locked rows with the fences that this store holds, and notes the sides that are
    /// lost. Returns the fences of the sides that the lock has opened. After the commit, pass them to
    /// [`hold`](Self::hold).
    pub(super) fn compare(
        &mut self,
        sides: &BTreeSet<&SideId>,
        rows: &[Row],
    ) -> Result<BTreeMap<SideId, i64>, Fault> {
        let mut found = read(rows)?;
        for side in sides {
            if let Some(held) = self.held.get(*side)
                && found.remove(*side) != Some(*held)
            {
                self.held.remove(*side);
                self.lost.insert((*side).clone());
            }
        }
        Ok(found)
    }

    /// Returns the error for the first of these sides that is lost.
    pub(super) fn objection<'s>(
        &self,
        sides: impl IntoIterator<Item = &'s SideId>,
        store: &str,
    ) -> Option<StoreError> {
        let lost = sides.into_iter().find(|side| self.lost.contains(*side))?;
        let text = "another process has opened this side since, and runs it now: close one of the two, \
                    or open the side again";
        let error = StoreError::new(StoreErrorKind::Conflict, text);
        Some(error.in_store(store).in_side(lost))
    }

    /// Notes the fences of sides that this store has opened.
    pub(super) fn hold(&mut self, opened: BTreeMap<SideId, i64>) {
        for (side, number) in opened {
            self.lost.remove(&side);
            self.held.insert(side, number);
        }
    }
}

/// Reads the fences of sides from the rows of a lock.
pub(super) fn read(rows: &[Row]) -> Result<BTreeMap<SideId, i64>, Fault> {
    let number = |row: &Row| Ok((side(row)?, row.try_get(2)?));
    rows.iter().map(number).collect()
}

/// Reads the side from the first two columns of a row.
pub(super) fn side(row: &Row) -> Result<SideId, Fault> {
    let name = |index| {
        let wrong = || Fault::Corrupt("the name of a side cannot be read".into());
        unescaped(row.try_get(index)?).ok_or_else(wrong)
    };
    Ok(SideId::new(name(0)?, name(1)?))
}

/// Returns the names of sides as two arrays.
pub(super) fn names<'s>(sides: impl Iterator<Item = &'s SideId>) -> Vec<Param<'static>> {
    let (mut sessions, mut agents) = (Vec::new(), Vec::new());
    for side in sides {
        sessions.push(escaped(side.session()).into_owned());
        agents.push(escaped(side.agent()).into_owned());
    }
    vec![Box::new(sessions), Box::new(agents)]
}

/// Returns the name of a side as two parameters.
pub(super) fn name(side: &SideId) -> Vec<Param<'_>> {
    vec![
        Box::new(escaped(side.session())),
        Box::new(escaped(side.agent())),
    ]
}

/// Takes a lease that is free, over or the holder's already. Returns the holder that has it afterwards.
const LEASE: &str = "INSERT INTO accp_lease AS l (session, agent, fence, holder, expires)
    VALUES ($1, $2, 0, $3, clock_timestamp() + make_interval(secs => $4))
    ON CONFLICT (session, agent) DO UPDATE SET
        holder = CASE WHEN l.holder <> $3 AND l.expires > clock_timestamp()
            THEN l.holder ELSE excluded.holder END,
        expires = CASE WHEN l.holder <> $3 AND l.expires > clock_timestamp()
            THEN l.expires ELSE excluded.expires END
    RETURNING holder, extract(epoch FROM expires - clock_timestamp())::float8";
/// Selects the rows of the sides whose lease a holder has. Locks them in the order of the key, as every other
/// transaction does.
macro_rules! held {
    () => {
        "WITH mine AS (
            SELECT l.session, l.agent
            FROM unnest($1::text[], $2::text[]) u (session, agent)
            JOIN accp_lease l ON l.session = u.session AND l.agent = u.agent
            WHERE l.holder = $3
            ORDER BY l.session, l.agent FOR NO KEY UPDATE OF l) "
    };
}

const RENEW: &str = concat!(
    held!(),
    "UPDATE accp_lease l SET expires = clock_timestamp() + make_interval(secs => $4)
    FROM mine WHERE l.session = mine.session AND l.agent = mine.agent
    RETURNING l.session, l.agent"
);
const RELEASE: &str = concat!(
    held!(),
    "UPDATE accp_lease l SET holder = NULL, expires = NULL
    FROM mine WHERE l.session = mine.session AND l.agent = mine.agent"
);

/// The longest time of a lease, in seconds (about 31 years): a longer time could exceed the range of the database.
const LONGEST: f64 = 1e9;

/// Takes or renews the lease of a side.
pub(super) fn lease(
    link: &mut Link,
    side: &SideId,
    holder: &str,
    time: Duration,
) -> Result<Lease, Fault> {
    let mut params = name(side);
    params.push(Box::new(escaped(holder)));
    params.push(Box::new(time.as_secs_f64().min(LONGEST)));
    let rows = link.flight(&[FlightStep::Query(LEASE, params)])?;
    let Some(row) = rows.first().and_then(|rows| rows.first()) else {
        return Err(Fault::Corrupt(
            "the row of a lease has not been kept".into(),
        ));
    };
    let wrong = || Fault::Corrupt("the holder of a lease cannot be read".into());
    let found = unescaped(row.try_get(0)?).ok_or_else(wrong)?;
    if found == holder {
        return Ok(Lease::Held);
    }
    let left: f64 = row.try_get(1)?;
    Ok(Lease::Other {
        holder: found.into_owned(),
        left: Duration::try_from_secs_f64(left).unwrap_or_default(),
    })
}

/// Renews the leases of sides. Returns the sides whose lease the holder does not have.
pub(super) fn renew(
    link: &mut Link,
    sides: &[SideId],
    holder: &str,
    time: Duration,
) -> Result<Vec<SideId>, Fault> {
    let mut params = names(sides.iter());
    params.push(Box::new(escaped(holder)));
    params.push(Box::new(time.as_secs_f64().min(LONGEST)));
    let rows = link.flight(&[FlightStep::Query(RENEW, params)])?;
    let renewed = rows.iter().flatten().map(side);
    let renewed: BTreeSet<SideId> = renewed.collect::<Result<_, _>>()?;
    let lost = sides.iter().filter(|side| !renewed.contains(side));
    Ok(lost.cloned().collect())
}

/// Gives up the leases of sides.
pub(super) fn release(link: &mut Link, sides: &[SideId], holder: &str) -> Result<(), Fault> {
    let mut params = names(sides.iter());
    params.push(Box::new(escaped(holder)));
    link.flight(&[FlightStep::Query(RELEASE, params)]).map(drop)
}
