//! A layer for servers that trusts the agent named in the path of a request.

use std::fmt;
use std::task::{Context, Poll};

use http::{Request, Uri};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use tower_service::Service;

use super::Principal;

/// Lets everybody speak as the agent that the path names: `/{session}/{agent}`. The paths of the service come
/// after that. Use this for servers on loopback, for tests, and behind a layer that has checked the path.
///
/// The service gets the [`Principal`] in the extensions of the request, and the rest of the path. A request that
/// already has a principal keeps its principal and its path, so that nobody can replace a principal that was
/// checked.
///
/// ```
/// use accp_client::{Principal, TrustPath};
/// use tower_service::Service as _;
///
/// # futures_util::FutureExt::now_or_never(async {
/// let whoever = tower::service_fn(|request: http::Request<()>| async move {
///     let who = request.extensions().get::<Principal>().cloned();
///     Ok::<_, std::convert::Infallible>((who.map(|who| who.agent().to_owned()), request.uri().to_string()))
/// });
/// let mut service = TrustPath::new(whoever);
/// let request = http::Request::get("/lunch/dev/card").body(()).expect("a request");
/// let (agent, rest) = service.call(request).await.expect("an answer");
/// assert_eq!((agent.as_deref(), &*rest), (Some("dev"), "/card"));
/// # });
/// ```
#[derive(Debug, Clone)]
pub struct TrustPath<S> {
    service: S,
}

impl<S> TrustPath<S> {
    /// Puts this layer before a service.
    pub fn new(service: S) -> Self {
        Self { service }
    }
}

impl<S, B> Service<Request<B>> for TrustPath<S>
where
    S: Service<Request<B>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> S::Future {
        if request.extensions().get::<Principal>().is_none()
            && let Some((principal, rest)) = read(request.uri())
        {
            *request.uri_mut() = rest;
            request.extensions_mut().insert(principal);
        }
        self.service.call(request)
    }
}

/// Reads the principal at the beginning of a path. Returns it with the rest of the address.
fn read(uri: &Uri) -> Option<(Principal, Uri)> {
    let mut parts = uri.path().strip_prefix('/')?.splitn(3, '/');
    let (session, agent) = (name(parts.next()?)?, name(parts.next()?)?);
    if session.is_empty() || agent.is_empty() {
        return None;
    }
    let rest = parts.next().unwrap_or_default();
    let query = uri.query().map(|query| format!("?{query}"));
    let rest = format!("/{rest}{}", query.unwrap_or_default());
    Some((Principal::new(session, agent), rest.parse().ok()?))
}

/// Reads a name from a part of a path.
fn name(part: &str) -> Option<String> {
    let name = percent_decode_str(part).decode_utf8();
    name.map(Into::into).ok()
}

/// Everything but the letters, digits and marks that an address need not escape (RFC 3986, section 2.3).
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Writes a name as one part of the path of an address, as [`TrustPath`] and the hub read it.
///
/// ```
/// use accp_client::address_part;
///
/// assert_eq!(address_part("lunch.1").to_string(), "lunch.1");
/// assert_eq!(address_part("soup/rye bread").to_string(), "soup%2Frye%20bread");
/// ```
pub fn address_part(name: &str) -> impl fmt::Display + '_ {
    utf8_percent_encode(name, UNRESERVED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn principal_of(path: &str) -> Option<(String, String, String)> {
        let (who, rest) = read(&path.parse().expect("an address"))?;
        Some((who.session().into(), who.agent().into(), rest.to_string()))
    }

    #[test]
    fn the_first_two_parts_are_the_principal_and_no_others() {
        let dev = |rest: &str| Some(("lunch".to_owned(), "dev".to_owned(), rest.to_owned()));
        assert_eq!(principal_of("/lunch/dev"), dev("/"));
        assert_eq!(principal_of("/lunch/dev/"), dev("/"));
        assert_eq!(
            principal_of("/lunch/dev/eves/eve?x=1"),
            dev("/eves/eve?x=1")
        );
        assert_eq!(principal_of("/lun%63h/de%76"), dev("/"));
        let [session, agent] = ["soup/\u{e4}", "a%2F?b"];
        let path = format!("/{}/{}", address_part(session), address_part(agent));
        assert_eq!(
            principal_of(&path),
            Some((session.into(), agent.into(), "/".into()))
        );
        for path in ["/", "/lunch", "/lunch/", "//dev", "/%ff/dev"] {
            assert_eq!(principal_of(path), None, "{path}");
        }
    }
}
