//! Rates and quotas of callers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The most callers that have a bucket at a time. If there are more, full buckets are removed.
const CALLERS: usize = 100_000;

/// A token bucket for each caller: it allows `most` at once, and then the rate.
#[derive(Debug)]
pub(crate) struct Rate {
    a_second: f64,
    most: f64,
    buckets: Mutex<HashMap<String, Bucket>>,
}

#[derive(Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Rate {
    /// Allows `a_second` on average, and the amount of `seconds` seconds at once.
    pub(crate) fn new(a_second: f64, seconds: f64) -> Self {
        let a_second = a_second.max(f64::MIN_POSITIVE);
        Self {
            a_second,
            most: (a_second * seconds).max(1.0),
            buckets: Mutex::default(),
        }
    }

    /// Takes an amount, or nothing if that is over the rate. Returns whether it was taken.
    pub(crate) fn allows(&self, caller: &str, amount: f64) -> bool {
        self.take(caller, amount, false).is_zero()
    }

    /// Takes an amount, or nothing if that is over the rate: then this returns after which time there is room for it.
    pub(crate) fn try_take(&self, caller: &str, amount: f64) -> Result<(), Duration> {
        let wait = self.take(caller, amount, false);
        if wait.is_zero() { Ok(()) } else { Err(wait) }
    }

    /// Takes an amount, and waits while it is over the rate.
    pub(crate) async fn wait(&self, caller: &str, amount: f64) {
        let wait = self.take(caller, amount, true);
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
    }

    /// Takes an amount from the bucket of a caller. Returns how long the caller has to wait for the amount: nothing
    /// if the bucket has it. Otherwise, the amount is taken only if `waits` is true.
    fn take(&self, caller: &str, amount: f64, waits: bool) -> Duration {
        let now = Instant::now();
        // An amount that is larger than a bucket must also be possible, so it counts as a full bucket.
        let amount = amount.min(self.most);
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= CALLERS && !buckets.contains_key(caller) {
            let full = |bucket: &Bucket| bucket.left_at(now, self) >= self.most;
            buckets.retain(|_, bucket| !full(bucket));
        }
        if !buckets.contains_key(caller) {
            let (left, at) = (self.most, now);
            buckets.insert(caller.to_owned(), Bucket { left, at });
        }
        let Some(bucket) = buckets.get_mut(caller) else {
            return Duration::ZERO;
        };
        bucket.left = bucket.left_at(now, self);
        bucket.at = now;
        if bucket.left >= amount {
            bucket.left -= amount;
            return Duration::ZERO;
        }
        let wait = Duration::from_secs_f64(((amount - bucket.left) / self.a_second).min(3600.0));
        if waits {
            bucket.left -= amount;
        }
        wait
    }
}

impl Bucket {
    fn left_at(&self, now: Instant, rate: &Rate) -> f64 {
        let since = now.duration_since(self.at).as_secs_f64();
        rate.most.min(self.left + since * rate.a_second)
    }
}

/// A quota for each caller, of open requests or of bytes.
#[derive(Debug)]
pub(crate) struct Quota {
    most: usize,
    counts: Mutex<HashMap<Arc<str>, usize>>,
}

/// The amount that a caller uses as long as this value lives.
#[derive(Debug)]
pub(crate) struct Reservation {
    quota: Arc<Quota>,
    caller: Arc<str>,
    amount: usize,
}

impl Quota {
    /// Lets each caller use `most` at a time.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            counts: Mutex::default(),
        }
    }

    /// Returns an empty reservation for a caller.
    pub(crate) fn reservation(self: &Arc<Self>, caller: &Arc<str>) -> Reservation {
        Reservation {
            quota: Arc::clone(self),
            caller: Arc::clone(caller),
            amount: 0,
        }
    }

    /// Reserves an amount of 1, if the quota of the caller allows it.
    pub(crate) fn take(self: &Arc<Self>, caller: &Arc<str>) -> Option<Reservation> {
        let mut room = self.reservation(caller);
        room.hold(1).then_some(room)
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<Arc<str>, usize>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reservation {
    /// Changes the reservation to this amount. Returns false if the quota does not allow that, and leaves the
    /// reservation as it was.
    pub(crate) fn hold(&mut self, amount: usize) -> bool {
        let mut counts = self.quota.counts();
        let count = counts.get(&self.caller).copied().unwrap_or_default();
        let others = count - self.amount;
        if amount > self.amount && others.saturating_add(amount) > self.quota.most {
            return false;
        }
        self.amount = amount;
        if others + amount == 0 {
            counts.remove(&self.caller);
        } else {
            counts.insert(Arc::clone(&self.caller), others + amount);
        }
        true
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.hold(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_refused_and_others_are_not() {
        let rate = Rate::new(10.0, 1.0);
        let allowed = (0..100).filter(|_| rate.allows("flood", 1.0)).count();
        assert!((10..20).contains(&allowed), "{allowed}");
        assert!(rate.allows("quiet", 1.0));
        // The first amount is larger than the maximum and still allowed. After it, nothing is.
        assert!(rate.allows("large", 1e9));
        assert!(!rate.allows("large", 10.0));
    }

    #[test]
    fn what_is_open_is_counted_for_each_caller() {
        let open = Arc::new(Quota::new(2));
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        let (first, second) = (open.take(&a), open.take(&a));
        assert!(first.is_some() && second.is_some());
        assert!(open.take(&a).is_none());
        assert!(open.take(&b).is_some());
        drop(first);
        assert!(open.take(&a).is_some());
        drop(second);
        let mut room = open.reservation(&a);
        assert!(room.hold(2) && !room.hold(3) && open.take(&a).is_none());
        assert!(room.hold(1) && open.take(&a).is_some());
        drop(room);
        assert!(open.counts().is_empty());
    }
}
