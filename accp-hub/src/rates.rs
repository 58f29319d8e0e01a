//! How many frames a second an agent may send.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Agents whose rate is known at a time. Those that have been quiet are forgotten.
const AGENTS: usize = 100_000;

/// A bucket for each agent: a second's worth of frames at once, and then as many as the rate.
#[derive(Debug)]
pub(crate) struct Rates {
    rate: f64,
    buckets: Mutex<HashMap<String, Bucket>>,
}

#[derive(Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Rates {
    pub(crate) fn new(frames_per_second: u32) -> Self {
        Self {
            rate: f64::from(frames_per_second.max(1)),
            buckets: Mutex::default(),
        }
    }

    /// Takes a frame of an agent. Returns false if it has sent too many.
    pub(crate) fn allows(&self, agent: &str) -> bool {
        self.take(agent, false).is_zero()
    }

    /// Takes a frame of an agent, and waits as long as it has sent too many.
    pub(crate) async fn wait(&self, agent: &str) {
        let wait = self.take(agent, true);
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
    }

    /// Returns how long the frame has to wait. A frame that waits counts.
    fn take(&self, agent: &str, waits: bool) -> Duration {
        let now = Instant::now();
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= AGENTS && !buckets.contains_key(agent) {
            // A bucket is full again after a second.
            buckets.retain(|_, bucket| now.duration_since(bucket.at).as_secs() < 1);
        }
        if !buckets.contains_key(agent) {
            let (left, at) = (self.rate, now);
            buckets.insert(agent.to_owned(), Bucket { left, at });
        }
        let Some(bucket) = buckets.get_mut(agent) else {
            return Duration::ZERO;
        };
        let since = now.duration_since(bucket.at).as_secs_f64();
        bucket.left = self.rate.min(bucket.left + since * self.rate);
        bucket.at = now;
        if bucket.left >= 1.0 {
            bucket.left -= 1.0;
            return Duration::ZERO;
        }
        let wait = Duration::from_secs_f64((1.0 - bucket.left) / self.rate);
        if waits {
            bucket.left -= 1.0;
        }
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_refused_and_others_are_not() {
        let rates = Rates::new(10);
        let allowed = (0..100).filter(|_| rates.allows("flood")).count();
        assert!((10..20).contains(&allowed), "{allowed}");
        assert!(rates.allows("quiet"));
    }
}
