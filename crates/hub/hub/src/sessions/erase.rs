//! Erases data of the sessions of a hub.

use accp_store::{EraseError, ErasurePlan, ErasureRequest, Store, StoreErrorKind};

use super::Sessions;
use crate::answer::Refused;

impl Sessions {
    /// Erases data of a session. A session in memory still has the data, so this ends the session. The session
    /// begins anew from the store with its next use.
    pub(crate) async fn erase(
        &self,
        session: &str,
        wanted: ErasureRequest,
        dry_run: bool,
    ) -> Result<ErasurePlan, Refused> {
        let (options, rules) = (self.options.clone(), self.rules.clone());
        let name = session.to_owned();
        let make = move |store: &mut dyn Store| match ErasurePlan::make(
            store, &name, &wanted, &options, &rules,
        ) {
            Err(EraseError::Store(error)) => Err(error),
            made => Ok(made),
        };
        // This first plan is only a check, so that a refused plan does not interrupt the session.
        let plan = self
            .store
            .ask(make.clone())
            .await
            .map_err(|error| Refused::store(&error))??;
        if dry_run {
            return Ok(plan);
        }
        let erased = self.store.committer().interrupt(session, move |store| {
            let planned = make(store)?;
            if let Ok(plan) = &planned {
                plan.carry_out(store)?;
            }
            Ok(planned)
        });
        let erased = erased.await;
        let slot = self.lock().remove(session);
        if let Some(slot) = slot {
            // Another request may be opening the session with the old data. This waits for that
            // hub, and ends it.
            let opened = slot.hub.get_or_try_init(|| async { Err(()) }).await;
            if let Ok(hub) = opened {
                hub.end("data of the session was erased: connect again");
            }
        }
        let erased = erased.map_err(|error| match error.kind() {
            StoreErrorKind::Busy => Refused::unscrubbed(),
            StoreErrorKind::Full => Refused::uncopied(&error),
            _ => Refused::store(&error),
        });
        erased?.map_err(Refused::from)
    }
}
