//! A disk that can lose every write that was not synced.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::random::Random;
use crate::shim::Event;

/// The files of one folder: the content that survives every power cut, and the changes that a cut may lose.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    files: Vec<File>,
    /// The names in use, each with the index of its file.
    names: BTreeMap<String, usize>,
    /// The names that survive a cut for sure. `renames` lists the later changes, not yet synced.
    durable: BTreeMap<String, usize>,
    renames: Vec<(String, Option<usize>)>,
    /// The names of the folders that an event has made. All other folders existed from the start.
    made: BTreeSet<String>,
    /// The number of events that [`cut_at`](Self::cut_at) has applied.
    seen: usize,
}

#[derive(Debug, Default)]
struct File {
    durable: Vec<u8>,
    /// The changes since the last sync.
    pending: Vec<Change>,
}

#[derive(Debug)]
enum Change {
    Write { at: usize, bytes: Vec<u8> },
    Truncate(usize),
}

/// The part of the unsynced changes that survives a cut.
#[derive(Debug, Clone, Copy)]
enum Luck {
    None,
    All,
    /// All changes up to some moment.
    First,
    /// Any of the changes, each write whole or not at all.
    Some,
    /// Any of the changes, in sectors of this many bytes.
    Torn(usize),
}

/// Returns random instants from `first` on for cuts, in their order, so that a disk sees each event only once. Every
/// second cut comes just before a sync, when the most can be lost.
pub(crate) fn instants(
    events: &[Event],
    first: usize,
    cuts: usize,
    random: &mut Random,
    is_sync: impl Fn(&Event) -> bool,
) -> Vec<usize> {
    let mut instants: Vec<_> = (0..cuts)
        .map(|_| first + random.below(events.len() - first + 1))
        .collect();
    for instant in instants.iter_mut().step_by(2) {
        let after = events[*instant..].iter().position(&is_sync);
        *instant += after.unwrap_or(0);
    }
    instants.sort_unstable();
    instants
}

impl Disk {
    /// Applies the events before an instant, and cuts the power. Returns a folder with the surviving files, and
    /// whether a write was torn.
    pub(crate) fn cut_at(
        &mut self,
        instant: usize,
        events: &[Event],
        random: &mut Random,
    ) -> (TempDir, bool) {
        for event in &events[self.seen..instant] {
            self.apply(event);
        }
        self.seen = instant;
        let folder = tempfile::tempdir().expect("a folder");
        let torn = self.cut(random, folder.path());
        (folder, torn)
    }

    /// Records an event.
    fn apply(&mut self, event: &Event) {
        match event {
            Event::Create(name) => {
                self.files.push(File::default());
                let file = self.files.len() - 1;
                self.names.insert(name.clone(), file);
                self.renames.push((name.clone(), Some(file)));
            }
            Event::Delete(name) => {
                self.names.remove(name);
                self.renames.push((name.clone(), None));
            }
            Event::Rename { from, to } => {
                if let Some(file) = self.names.remove(from) {
                    self.names.insert(to.clone(), file);
                    self.renames.push((to.clone(), Some(file)));
                    self.renames.push((from.clone(), None));
                }
            }
            Event::Write { file, at, bytes } => {
                let (at, bytes) = (*at as usize, bytes.clone());
                self.file(file).pending.push(Change::Write { at, bytes });
            }
            Event::Truncate { file, size } => {
                self.file(file)
                    .pending
                    .push(Change::Truncate(*size as usize));
            }
            Event::Sync(name) => {
                let file = self.file(name);
                for change in std::mem::take(&mut file.pending) {
                    change.apply(&mut file.durable);
                }
            }
            Event::SyncFolder(folder) => {
                let inside = |renamed: &mut (String, Option<usize>)| above(&renamed.0) == folder;
                for (name, file) in self.renames.extract_if(.., inside) {
                    rename(&mut self.durable, name, file);
                }
            }
            Event::MakeFolder(name) => {
                self.made.insert(name.clone());
                self.apply(&Event::Create(name.clone()));
            }
        }
    }

    /// Cuts the power, and writes the surviving files into a folder. Returns whether a write was
    /// torn.
    fn cut(&self, random: &mut Random, folder: &Path) -> bool {
        let mut names = self.durable.clone();
        let luck = [Luck::None, Luck::All, Luck::First][random.below(3)];
        let kept = luck.choose(self.renames.len(), random);
        for ((name, file), _) in self.renames.iter().zip(kept).filter(|(_, kept)| *kept) {
            rename(&mut names, name.clone(), *file);
        }
        let mut torn = false;
        let survive = names.clone();
        let is_there = |folder: &str| !self.made.contains(folder) || survive.contains_key(folder);
        for (name, file) in names {
            let mut folders = std::iter::successors(Some(above(&name)), |name| {
                (!name.is_empty()).then(|| above(name))
            });
            if self.made.contains(&name) || !folders.all(is_there) {
                continue;
            }
            let bytes = self.files[file].after_cut(random, &mut torn);
            let path = folder.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("the folder takes it");
            fs::write(path, bytes).expect("the folder takes it");
        }
        torn
    }

    fn file(&mut self, name: &str) -> &mut File {
        &mut self.files[self.names[name]]
    }
}

impl File {
    fn after_cut(&self, random: &mut Random, torn: &mut bool) -> Vec<u8> {
        let all = [
            Luck::None,
            Luck::All,
            Luck::First,
            Luck::Some,
            Luck::Torn(512),
            Luck::Torn(4096),
        ];
        let luck = all[random.below(all.len())];
        let mut bytes = self.durable.clone();
        let kept = luck.choose(self.pending.len(), random);
        for (change, _) in self.pending.iter().zip(kept).filter(|(_, kept)| *kept) {
            match (change, luck) {
                (Change::Write { at, bytes: new }, Luck::Torn(sector)) => {
                    *torn |= tear(&mut bytes, *at, new, sector, random);
                }
                _ => change.apply(&mut bytes),
            }
        }
        bytes
    }
}

impl Luck {
    fn choose(self, count: usize, random: &mut Random) -> Vec<bool> {
        let first = random.below(count + 1);
        let kept = |index: usize, random: &mut Random| match self {
            Self::None => false,
            Self::All => true,
            Self::First => index < first,
            Self::Some | Self::Torn(_) => random.below(2) == 0,
        };
        (0..count).map(|index| kept(index, random)).collect()
    }
}

impl Change {
    fn apply(&self, file: &mut Vec<u8>) {
        match self {
            Self::Write { at, bytes } => write(file, *at, bytes),
            Self::Truncate(size) => file.resize(*size, 0),
        }
    }
}

/// Writes only some sectors of a write. Returns whether a sector was left out.
fn tear(file: &mut Vec<u8>, at: usize, bytes: &[u8], sector: usize, random: &mut Random) -> bool {
    let mut torn = false;
    let mut from = 0;
    while from < bytes.len() {
        let to = bytes.len().min((at + from) / sector * sector + sector - at);
        if random.below(2) == 0 {
            write(file, at + from, &bytes[from..to]);
        } else {
            torn = true;
        }
        from = to;
    }
    torn
}

/// Writes bytes at a place, and fills a gap before them with zeros.
fn write(file: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let end = at + bytes.len();
    if file.len() < end {
        file.resize(end, 0);
    }
    file[at..end].copy_from_slice(bytes);
}

/// Returns the name of the folder that a file is in.
fn above(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn rename(names: &mut BTreeMap<String, usize>, name: String, file: Option<usize>) {
    match file {
        Some(file) => names.insert(name, file),
        None => names.remove(&name),
    };
}
