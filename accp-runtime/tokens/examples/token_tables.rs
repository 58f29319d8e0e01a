//! Makes the tables of accp-tokens from the vocabularies that tiktoken-rs carries, and the classes of characters
//! from the Unicode tables of its regex engine. With `--check` it compares the result with the files, and writes
//! nothing.
//!
//! ```sh
//! cargo run -p accp-tokens --example token_tables
//! ```

// This example uses only a part of each of these files.
#[allow(dead_code)]
#[path = "../src/engine/class.rs"]
mod class;
#[allow(dead_code)]
#[path = "../src/engine/key.rs"]
mod key;

use class::Class;
use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::fs;
use std::path::Path;
use tiktoken_rs::{CoreBPE, cl100k_base_singleton, o200k_base_singleton};

const LONGEST: usize = 128;
/// The average number of keys in a bucket.
const BUCKET: usize = 4;
/// The number of records for a hundred tokens. With more records, pilots are easier to find.
const ROOM: usize = 102;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let check = match &arguments[..] {
        [] => false,
        [one] if one == "--check" => true,
        _ => return Err("usage: token_tables [--check]".into()),
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tables");
    for (name, bytes) in [
        ("o200k_base.bin", encoding(o200k_base_singleton())?),
        ("cl100k_base.bin", encoding(cl100k_base_singleton())?),
        ("classes.bin", classes()?),
    ] {
        let path = folder.join(name);
        if !check {
            fs::create_dir_all(&folder)?;
            fs::write(&path, bytes)?;
        } else if fs::read(&path)? != bytes {
            return Err(format!(
                "{} is not what the vocabulary gives; run `cargo run -p accp-tokens --example token_tables`",
                path.display()
            )
            .into());
        }
    }
    Ok(())
}

/// Returns the table of an encoding. `src/engine/table.rs` describes its layout.
fn encoding(vocabulary: &CoreBPE) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut lengths: BTreeMap<usize, Vec<(Vec<u8>, u32)>> = BTreeMap::new();
    for rank in 0.. {
        // The special tokens come after a gap in the ranks.
        let Ok(token) = vocabulary.decode_bytes(&[rank]) else {
            break;
        };
        lengths.entry(token.len()).or_default().push((token, rank));
    }
    let mut head = vec![0; (LONGEST + 1) * 16];
    let mut body = parts(&lengths)?;
    row(&mut head, 0, [0, 0, LONGEST * 16 + 16, body.len() / 5])?;
    for (length, tokens) in lengths {
        if length > LONGEST {
            return Err(format!("a token has {length} bytes").into());
        }
        let hash = |token: &[u8]| match token.len() {
            0..=key::WINDOW => key::hash(key::first(key::window(token, 0), token.len())),
            _ => key::hash_long(token),
        };
        let hashes: Vec<_> = tokens.iter().map(|(token, _)| hash(token)).collect();
        let Perfect { pilots, places } = perfect(&hashes)?;
        let pilots_at = head.len() + body.len();
        let records_at = pilots_at + 2 * pilots.len();
        row(
            &mut head,
            length,
            [pilots_at, pilots.len(), records_at, places.len()],
        )?;
        body.extend(pilots.iter().flat_map(|pilot| pilot.to_le_bytes()));
        for place in places {
            // An empty place gets the first token. This is safe: no lookup of this token leads here, and no other
            // token equals it.
            let (token, rank) = &tokens[place.unwrap_or(0)];
            body.extend(token);
            body.extend(&rank.to_le_bytes()[..3]);
        }
    }
    head.extend(body);
    // A lookup reads a whole window, even from the last record.
    head.extend([0; key::WINDOW + 4]);
    Ok(head)
}

/// Writes a row of the head.
fn row(head: &mut [u8], length: usize, numbers: [usize; 4]) -> Result<(), Box<dyn Error>> {
    for (at, number) in numbers.into_iter().enumerate() {
        let at = length * 16 + at * 4;
        head[at..at + 4].copy_from_slice(&u32::try_from(number)?.to_le_bytes());
    }
    Ok(())
}

/// Returns the two parts of each token, in the order of ranks. To find the parts of a token, this function joins the
/// bytes of the token as the encoding does, until two parts are left.
fn parts(lengths: &BTreeMap<usize, Vec<(Vec<u8>, u32)>>) -> Result<Vec<u8>, Box<dyn Error>> {
    let tokens = lengths.values().flatten();
    let ranks: HashMap<&[u8], u32> = tokens.map(|(token, rank)| (&token[..], *rank)).collect();
    let mut in_order: Vec<_> = ranks.iter().map(|(&token, &rank)| (rank, token)).collect();
    in_order.sort_unstable();
    let mut parts = Vec::new();
    for (rank, token) in in_order {
        let mut joined: Vec<_> = token.chunks(1).collect();
        while joined.len() > 2 {
            let pairs = joined.windows(2).enumerate().filter_map(|(at, pair)| {
                let length = pair[0].len() + pair[1].len();
                let start: usize = joined[..at].iter().map(|part| part.len()).sum();
                let both = &token[start..start + length];
                ranks.get(both).map(|rank| (*rank, at, both))
            });
            let Some((_, at, both)) = pairs.min() else {
                return Err(format!("token {rank} is not joined from its bytes").into());
            };
            joined[at] = both;
            joined.remove(at + 1);
        }
        let part = |part: &&[u8]| u64::from(ranks[*part]);
        // Both parts of a one-byte token are the token itself.
        let both = part(&joined[0]) | part(&joined[joined.len() - 1]) << 20;
        parts.extend(&both.to_le_bytes()[..5]);
    }
    Ok(parts)
}

/// A pilot for each bucket, and for each place the index of its hash.
struct Perfect {
    pilots: Vec<u16>,
    places: Vec<Option<usize>>,
}

/// Finds pilots that give every hash a place of its own.
fn perfect(hashes: &[u64]) -> Result<Perfect, Box<dyn Error>> {
    let buckets = hashes.len().div_ceil(BUCKET);
    let slots = (hashes.len() * ROOM).div_ceil(100);
    let mut full: Vec<Vec<usize>> = vec![Vec::new(); buckets];
    for (index, &hash) in hashes.iter().enumerate() {
        full[key::bucket(hash, u32::try_from(buckets)?)].push(index);
    }
    let mut order: Vec<_> = (0..buckets).collect();
    order.sort_by_key(|&bucket| (std::cmp::Reverse(full[bucket].len()), bucket));
    let mut pilots = vec![0; buckets];
    let mut places = vec![None; slots];
    for bucket in order {
        let members = &full[bucket];
        let fits = |pilot: &u16| {
            let mut taken = Vec::new();
            members.iter().all(|&index| {
                let place = key::place(hashes[index], *pilot, slots as u32);
                let free = places[place].is_none() && !taken.contains(&place);
                taken.push(place);
                free
            })
        };
        let pilot = (0..=u16::MAX).find(fits).ok_or("no pilot fits a bucket")?;
        pilots[bucket] = pilot;
        for &index in members {
            places[key::place(hashes[index], pilot, slots as u32)] = Some(index);
        }
    }
    Ok(Perfect { pilots, places })
}

/// Returns the classes of all characters: first the number of the block for every 128 characters, then the blocks.
fn classes() -> Result<Vec<u8>, Box<dyn Error>> {
    let mut all = vec![Class::Other as u8; 0x11_0000];
    for (pattern, class) in [
        (r"\p{Ll}", Class::Lower),
        (r"[\p{Lu}\p{Lt}]", Class::Upper),
        (r"[\p{Lm}\p{Lo}]", Class::Letter),
        (r"\p{M}", Class::Mark),
        (r"\p{N}", Class::Number),
        (r"[\s&&[^\r\n]]", Class::Space),
        (r"[\r\n]", Class::Newline),
    ] {
        let hir = regex_syntax::parse(pattern)?;
        let regex_syntax::hir::HirKind::Class(regex_syntax::hir::Class::Unicode(set)) = hir.kind()
        else {
            return Err(format!("{pattern} is not a class").into());
        };
        for range in set.ranges() {
            for character in range.start()..=range.end() {
                all[character as usize] = class as u8;
            }
        }
    }
    let mut blocks: Vec<u8> = Vec::new();
    let mut numbers = HashMap::new();
    let mut index = Vec::new();
    for block in all.chunks(128) {
        let next = numbers.len();
        let number = *numbers.entry(block).or_insert_with(|| {
            blocks.extend(block);
            next
        });
        index.push(u8::try_from(number)?);
    }
    index.extend(blocks);
    Ok(index)
}
