//! Lets a hub open as many files as it needs: each connection counts as an open file.

use crate::config::Config;

/// Open files other than connections: those of the store, of the runtime, of tokens.
#[cfg(unix)]
const OTHERS: u64 = 64;

/// Raises the number of files that this process may have open to the limit of the system. If that is too few,
/// this lowers [`Limits::connections`](crate::Limits::connections), and returns a note for the operator.
///
/// A program calls this once, before it opens its store: a store that finds no free file fails.
pub fn make_room(config: &mut Config) -> Option<String> {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        let began = limit.current;
        limit.current = limit.maximum;
        let now = match setrlimit(Resource::Nofile, limit) {
            Ok(()) => limit.maximum,
            Err(_) => began,
        };
        // `None` means that the system sets no limit.
        let room = usize::try_from(now?.saturating_sub(OTHERS)).unwrap_or(usize::MAX);
        let wanted = config.limits.connections;
        if room < wanted {
            config.limits.connections = room;
            return Some(format!(
                "the system allows {room} connections and not {wanted}; `ulimit -Hn` raises that"
            ));
        }
    }
    // Outside Unix, sockets do not count as open files, so no limit applies.
    #[cfg(not(unix))]
    let _ = config;
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_hub_takes_no_more_connections_than_the_system_has_files_for() {
        let mut config = Config::default();
        config.limits.connections = usize::MAX;
        let said = make_room(&mut config);
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        match limit.current {
            Some(files) => {
                assert_eq!(config.limits.connections as u64, files - OTHERS);
                assert!(said.is_some_and(|said| said.contains("connections")));
            }
            None => assert_eq!(said, None),
        }
        config.limits.connections = 1;
        assert_eq!(make_room(&mut config), None);
        assert_eq!(config.limits.connections, 1);
    }
}
