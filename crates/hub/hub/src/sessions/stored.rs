//! Which sessions the store has.

use super::Sessions;
use crate::answer::Refused;

impl Sessions {
    /// Returns whether the store has the host's side of a session. An error if it has the session under another host:
    /// somebody has changed the name of the hub's agent, and must not begin a second log of the session by that.
    pub(super) async fn is_stored(&self, session: &str) -> Result<bool, Refused> {
        let side = self.side(session);
        let found = self.store.ask(move |store| {
            if store.summary(&side)?.is_some() {
                return Ok((true, None));
            }
            let host = store
                .sides(side.session())?
                .into_iter()
                .find(|side| side.host);
            Ok((false, host.map(|host| host.side.agent().to_owned())))
        });
        let (is_stored, host) = found.await.map_err(|error| Refused::store(&error))?;
        let Some(host) = host else {
            return Ok(is_stored);
        };
        tracing::error!(
            session,
            host,
            "the store has a session under another host: `agent` in the settings names the host"
        );
        Err(Refused::busy(&format!(
            "the name `{host}` as `agent` in the settings of the hub: it is the host of this session in the store"
        )))
    }
}
