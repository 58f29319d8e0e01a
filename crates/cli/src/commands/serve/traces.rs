//! Sends the spans of the hub as traces to a collector of OpenTelemetry.

use std::time::Duration;

use accp_hub::Server;
use async_trait::async_trait;
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::{Bytes, HeaderExtractor, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::Level;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::Layer;
use tracing_subscriber::registry::Registry;

use accp_console::outcome::Failure;

/// The name of the service, unless `OTEL_SERVICE_NAME` gives another name.
const SERVICE: &str = "accp-hub";
/// The longest time that the collector may take for one batch.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most bytes that are read of an answer from the collector.
const ANSWER: u64 = 64 * 1024;

/// The options of traces.
#[derive(Debug, clap::Args)]
pub(crate) struct TraceArgs {
    /// Send traces to this collector of OpenTelemetry, by OTLP over HTTP
    #[arg(long, value_name = "URL", env = "OTEL_EXPORTER_OTLP_ENDPOINT")]
    otlp: Option<String>,
}

/// Collects the spans and sends them to a collector; `None` if no collector is named.
pub(crate) struct Traces(Option<SdkTracerProvider>);

impl TraceArgs {
    /// Prepares sending to the collector, if one is named. The environment variables of OpenTelemetry (`OTEL_...`)
    /// set the sampler, the headers and the name of the service.
    pub(crate) fn open(&self) -> Result<Traces, Failure> {
        let Some(url) = self.otlp.as_deref().filter(|url| !url.is_empty()) else {
            return Ok(Traces(None));
        };
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE));
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Client(config.build().into()))
            .with_endpoint(format!("{}/v1/traces", url.trim_end_matches('/')))
            .build();
        let exporter =
            exporter.map_err(|error| Failure::Misuse(format!("--otlp {url}: {error}")))?;
        let resource = Resource::builder();
        let resource = match std::env::var_os("OTEL_SERVICE_NAME") {
            Some(_) => resource,
            None => resource.with_service_name(SERVICE),
        };
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource.build());
        Ok(Traces(Some(provider.build())))
    }
}

impl Traces {
    /// Returns the layer that records the spans.
    pub(crate) fn layer(&self) -> Option<Box<dyn Layer<Registry> + Send + Sync>> {
        let tracer = self.0.as_ref()?.tracer(SERVICE);
        let spans = Targets::new().with_target("accp::spans", Level::DEBUG);
        let layer = tracing_opentelemetry::layer()
            .with_tracer(tracer)
            .with_location(false)
            .with_threads(false)
            .with_filter(spans);
        Some(layer.boxed())
    }

    /// Makes the span of each request a child of the caller's span, if the request names that span (`traceparent`).
    pub(crate) fn follow(&self, server: Server) -> Server {
        if self.0.is_none() {
            return server;
        }
        let propagator = TraceContextPropagator::new();
        server.on_request(move |headers, span| {
            // A span that no layer records cannot get a parent.
            let _ = span.set_parent(propagator.extract(&HeaderExtractor(headers)));
        })
    }

    /// Sends the remaining spans. Waits only a few seconds for this.
    pub(crate) fn end(self) {
        if let Some(Err(error)) = self.0.map(|provider| provider.shutdown()) {
            tracing::warn!(%error, "the last traces were given up");
        }
    }
}

/// The HTTP client for the exporter of traces. The exporter has its own thread, so the client may block.
#[derive(Debug)]
struct Client(ureq::Agent);

impl Client {
    fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, ureq::Error> {
        let answer = self.0.run(request.map(|body| body.to_vec()))?;
        let (head, mut body) = answer.into_parts();
        let body = body.with_config().limit(ANSWER).read_to_vec()?;
        Ok(Response::from_parts(head, body.into()))
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let url = request.uri().clone();
        let answer = self.send(request);
        // The exporter does not log these failures itself.
        match &answer {
            Ok(answer) if answer.status().is_success() => {}
            Ok(answer) => {
                tracing::warn!(%url, status = %answer.status(), "the collector takes no traces");
            }
            Err(error) => tracing::warn!(%url, %error, "the collector cannot be reached"),
        }
        Ok(answer?)
    }
}
