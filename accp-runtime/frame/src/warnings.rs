//! Warnings about messages that can be read but have a probable mistake.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use accp_registry::{ErrorCode, FrameSpec, Intent, Registry, SchemaRules};

use crate::dynamic_frame::DynamicFrame;
use crate::value::Value;

impl DynamicFrame<'_> {
    /// Returns the probable mistakes of this message under `registry`. The codec reads and writes the message
    /// nevertheless.
    ///
    /// ```
    /// use accp_runtime::{DynamicFrame, Registry};
    ///
    /// let registry = Registry::standard();
    /// let text = "@a>req:payment{txn:t1|amt:1.5|schema:TX}";
    /// let message = DynamicFrame::decode(text, &registry)?;
    /// assert_eq!(
    ///     message.warnings(&registry),
    ///     ["schema TX has no frame req:payment, so it gets no defaults: req:transaction, done:transaction"]
    /// );
    /// # Ok::<(), accp_runtime::DecodeError>(())
    /// ```
    pub fn warnings(&self, registry: &Registry) -> Vec<String> {
        let schema = self.schema_in(registry);
        let head = [self.intent.as_str(), &*self.operation];
        let mut warnings = Vec::new();
        if let Some(schema) = schema.filter(|schema| !schema.lists(&head)) {
            let title = |spec: &FrameSpec| registry.protocol().title(&spec.head);
            let frames: Vec<_> = schema.frames.iter().map(title).collect();
            warnings.push(format!(
                "schema {} has no frame {}, so it gets no defaults: {}",
                schema.code,
                registry.protocol().title(&head),
                frames.join(", ")
            ));
        }
        if let Some(rules) = schema.map(|schema| &schema.rules) {
            warnings.extend(self.faults(rules));
        }
        let currency = match self.schema.as_deref() {
            Some("TX") => self.payload.get("currency").and_then(Value::as_str),
            _ => None,
        };
        if let Some(text) = currency.filter(|text| !is_currency(text)) {
            let near = text.to_ascii_uppercase();
            let cure = if is_currency(&near) {
                format!("; did you mean {near}?")
            } else {
                String::new()
            };
            warnings.push(format!(
                "currency: `{text}` is not a code of ISO 4217 (draft section 10.3){cure}"
            ));
        }
        warnings
    }

    /// Returns why a host refuses this message although it can be read.
    fn faults(&self, rules: &SchemaRules) -> impl Iterator<Item = String> {
        let errors = rules.errors.as_ref();
        let failure = errors.filter(|_| self.intent == Intent::FAIL).map(|errors| {
            format!("a host refuses this: a failure is `fail:error` under {errors} (draft section 10.2)")
        });
        let said = rules.error_code.as_ref();
        let said = said.and_then(|name| self.payload.get(name)?.as_str());
        let is_known = |said: &str| said.parse().ok().and_then(ErrorCode::name).is_some();
        let code = said.filter(|said| !is_known(said)).map(|said| {
            format!("a host refuses this: {said} is not a code of the draft (section 3.6)")
        });
        failure.into_iter().chain(code)
    }
}

/// Returns whether a text is a currency code of ISO 4217. Without `std` the list of codes is missing, so
/// this checks only the form of the text.
fn is_currency(text: &str) -> bool {
    #[cfg(feature = "std")]
    let is_code = iso_currency::Currency::from_code(text).is_some();
    #[cfg(not(feature = "std"))]
    let is_code = text.len() == 3 && text.bytes().all(|b| b.is_ascii_uppercase());
    is_code
}
