//! The query of a request.

use axum::extract::{FromRequestParts, Query};
use axum::http::Uri;
use axum::http::request::Parts;
use axum::response::Response;
use serde::de::DeserializeOwned;

use crate::answer::Refused;
use crate::app::Shared;
use crate::metrics::add;
use crate::spans;

/// The parameters that the query of a route may have.
pub(crate) trait Parameters: DeserializeOwned {
    /// The parameters in words. The refusal of a query shows these words, and nothing of the query.
    const EXPECTED: &'static str;
}

/// The parameters of a request. A query that cannot be read is refused with a frame, like every other request.
pub(crate) struct Asked<T>(pub(crate) T);

/// Reads the query of an address.
pub(crate) fn read<T: Parameters>(uri: &Uri) -> Result<T, Refused> {
    let query = Query::<T>::try_from_uri(uri);
    let query = query.map_err(|_| Refused::invalid(T::EXPECTED))?;
    Ok(query.0)
}

impl<T: Parameters> FromRequestParts<Shared> for Asked<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &Shared) -> Result<Self, Response> {
        read(&parts.uri).map(Self).map_err(|refused| {
            add(&app.metrics.denied);
            spans::record_outcome("denied");
            refused.response(&app.config.agent)
        })
    }
}
