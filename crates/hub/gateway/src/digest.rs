//! Digests of messages, and of the beginnings of lists.

use ring::digest;

use crate::headers::first_half;

/// The first eight bytes of a message's digest, except the last bit. They only have to tell the messages of one
/// client apart. The last bit says that the message keeps the text that it came with.
pub(crate) type Digest = [u8; 8];

/// The digest of all messages before a place of a list.
pub(crate) type Place = [u8; 16];

/// The bit of a digest whose message keeps its text.
const KEPT: u8 = 1;

/// Returns the digest of a message.
pub(crate) fn digest_of(raw: &str) -> Digest {
    let whole = digest::digest(&digest::SHA256, raw.as_bytes());
    let mut first: Digest = whole.as_ref().first_chunk().copied().unwrap_or_default();
    first[7] &= !KEPT;
    first
}

/// Returns whether a message keeps the text that it came with.
pub(crate) fn is_kept(digest: Digest) -> bool {
    digest[7] & KEPT != 0
}

/// Lets a message keep the text that it came with.
pub(crate) fn keep_text(digest: &mut Digest) {
    digest[7] |= KEPT;
}

/// Returns whether both digests are of the same message, whether or not the message keeps its text.
pub(crate) fn is_same(one: Digest, other: Digest) -> bool {
    one[..7] == other[..7] && one[7] | KEPT == other[7] | KEPT
}

/// Returns how many messages two lists have in common at their beginning.
pub(crate) fn common(one: &[Digest], other: &[Digest]) -> usize {
    let pairs = one.iter().zip(other);
    pairs
        .take_while(|(one, other)| is_same(**one, **other))
        .count()
}

/// Returns the places of a list: before each message, and after the last one.
pub(crate) fn places(digests: &[Digest]) -> Vec<Place> {
    let mut place = Place::default();
    let mut all = vec![place];
    for message in digests {
        let mut context = digest::Context::new(&digest::SHA256);
        context.update(&place);
        let mut bare = *message;
        bare[7] &= !KEPT;
        context.update(&bare);
        place = first_half(context.finish().as_ref());
        all.push(place);
    }
    all
}
