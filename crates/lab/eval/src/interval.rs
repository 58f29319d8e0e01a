//! Confidence intervals of shares, by resampling of conversations.

/// The fewest conversations for an interval.
pub(crate) const FEWEST: usize = 10;
/// The number of samples of the bootstrap.
const SAMPLES: usize = 1000;
/// The seed, so that the same figures give the same interval.
const SEED: u64 = 12;

/// Returns the 95 % interval of the sum of all parts as a share of the sum of all wholes. It draws samples of the
/// conversations. `None` for fewer than ten conversations.
pub(crate) fn interval(pairs: &[(f64, f64)]) -> Option<(f64, f64)> {
    if pairs.len() < FEWEST {
        return None;
    }
    let mut state = SEED;
    let mut shares: Vec<f64> = (0..SAMPLES)
        .map(|_| {
            let (mut part, mut whole) = (0.0, 0.0);
            for _ in 0..pairs.len() {
                let (one, of) = pairs[(next(&mut state) % pairs.len() as u64) as usize];
                part += one;
                whole += of;
            }
            if whole > 0.0 { part / whole } else { 0.0 }
        })
        .collect();
    shares.sort_by(f64::total_cmp);
    let at = |percent: f64| shares[((SAMPLES - 1) as f64 * percent).round() as usize];
    Some((at(0.025), at(0.975)))
}

/// Returns the next number of the generator `SplitMix64`.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_holds_the_share_and_is_always_the_same() {
        let pairs: Vec<(f64, f64)> = (0..40).map(|at| (f64::from(at % 7), 10.0)).collect();
        let share: f64 = pairs.iter().map(|(part, _)| part).sum::<f64>() / 400.0;
        let (low, high) = interval(&pairs).unwrap();
        assert!(
            low < share && share < high && high - low < 0.15,
            "{low} {share} {high}"
        );
        assert_eq!(interval(&pairs), Some((low, high)));
        assert_eq!(interval(&pairs[..9]), None);
        let same = [(1.0, 2.0); 10];
        assert_eq!(interval(&same), Some((0.5, 0.5)));
    }
}
