//! Prices of providers, each with its source and date.

use std::sync::LazyLock;

use serde_json::{Map, Value as Json};

use crate::net::{Matching, Prices, Tier};

/// The profiles whose net cost has a table of its own.
pub const SHOWN: [&str; 4] = ["claude", "claude-hour", "gpt", "gpt-5"];

/// The prices of a provider. Each is relative to the price of an input token that no cache stores or has stored.
///
/// ```
/// use accp_eval::Profile;
///
/// let claude = Profile::named("claude").expect("it is known");
/// assert_eq!((claude.prices.cached, claude.prices.input), (0.05, 1.25));
/// assert!(claude.sources.iter().all(|source| source.contains("2026")));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// The name.
    pub name: String,
    /// The models that have these prices.
    pub of: String,
    /// The prices.
    pub prices: Prices,
    /// The sources of the prices: `URL, date: what it says`.
    pub sources: Vec<String>,
}

/// A document is not a profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected `{place}` to be {expected}, found {found}; `accp-lab bench --help` shows a profile"
)]
pub struct ProfileError {
    place: String,
    expected: &'static str,
    found: String,
}

static PROFILES: LazyLock<Vec<Profile>> = LazyLock::new(|| {
    let json: Json = serde_json::from_str(include_str!("profiles.json")).unwrap_or_default();
    let profiles = json.as_array().into_iter().flatten();
    // A test reads each profile, so none is left out here.
    profiles
        .filter_map(|json| Profile::read(json).ok())
        .collect()
});

impl Profile {
    /// Returns the profiles that are known by name.
    pub fn all() -> &'static [Self] {
        &PROFILES
    }

    /// Returns the profile of this name; `None` if there is none.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::all().iter().find(|profile| profile.name == name)
    }

    /// Reads a profile.
    ///
    /// # Errors
    /// When a member is missing, or is not of the type that a profile has.
    ///
    /// ```
    /// use accp_eval::{Matching, Profile};
    /// use serde_json::json;
    ///
    /// let profile = json!({ "name": "ours", "read": 0.25, "write": 1, "output": 4, "minimum": 1024,
    ///     "matching": { "prefix": 128 }, "seconds": 600 });
    /// let read = Profile::read(&profile)?;
    /// assert_eq!(read.prices.matching, Matching::Prefix(128));
    /// let error = Profile::read(&json!({ "name": "ours" })).unwrap_err();
    /// assert!(error.to_string().starts_with("expected `matching` to be an object, found nothing"));
    /// # Ok::<(), accp_eval::ProfileError>(())
    /// ```
    pub fn read(json: &Json) -> Result<Self, ProfileError> {
        let empty = Map::new();
        let reader = Reader {
            path: "",
            json: json.as_object().unwrap_or(&empty),
        };
        let uncached = reader.price("uncached", Some(1.0))?;
        let matching = reader.inner("matching")?;
        let matching = if matching.json.contains_key("marks") {
            Matching::Marks(matching.count("marks")? as usize)
        } else {
            Matching::Prefix(matching.count("prefix")?.max(1))
        };
        let has = |key| reader.json.contains_key(key);
        let tier = has("tier").then(|| reader.tier()).transpose()?;
        let seconds = has("seconds").then(|| reader.count("seconds"));
        let seconds = seconds.transpose()?;
        let seconds = seconds.map(|seconds| u32::try_from(seconds).unwrap_or(u32::MAX));
        let sources = reader.json.get("sources").and_then(Json::as_array);
        let text = |json: &Json, key: &str| json[key].as_str().unwrap_or_default().to_owned();
        let sources = sources.into_iter().flatten().map(|source| {
            let [url, date, says] = ["url", "date", "says"].map(|key| text(source, key));
            format!("{url}, {date}: {says}")
        });
        Ok(Self {
            name: reader.text("name")?,
            of: text(json, "of"),
            sources: sources.collect(),
            prices: Prices {
                cached: reader.price("read", None)?,
                input: reader.price("write", None)?,
                output: reader.price("output", None)?,
                minimum: reader.count("minimum")?,
                uncached,
                matching,
                seconds,
                tier,
                ..Prices::default()
            },
        })
    }
}

/// Returns the prices of the shown profiles, for agents that fetch windows of this size.
pub(crate) fn shown(window: usize) -> [Prices; 4] {
    SHOWN.map(|name| {
        let prices = Profile::named(name).map(|profile| profile.prices);
        Prices {
            window,
            ..prices.unwrap_or_default()
        }
    })
}

/// Reads members of an object.
struct Reader<'j> {
    path: &'static str,
    json: &'j Map<String, Json>,
}

impl Reader<'_> {
    fn wrong(&self, key: &str, expected: &'static str) -> ProfileError {
        let found = self.json.get(key);
        ProfileError {
            place: format!("{}{key}", self.path),
            expected,
            found: found.map_or("nothing".to_owned(), |found| format!("`{found}`")),
        }
    }

    fn price(&self, key: &str, default: Option<f64>) -> Result<f64, ProfileError> {
        let price = self.json.get(key).and_then(Json::as_f64);
        let price = price.filter(|price| price.is_finite() && *price >= 0.0);
        let default = default.filter(|_| !self.json.contains_key(key));
        price
            .or(default)
            .ok_or_else(|| self.wrong(key, "a price from 0"))
    }

    fn count(&self, key: &str) -> Result<u64, ProfileError> {
        let count = self.json.get(key).and_then(Json::as_u64);
        count.ok_or_else(|| self.wrong(key, "a number from 0"))
    }

    fn text(&self, key: &str) -> Result<String, ProfileError> {
        let text = self.json.get(key).and_then(Json::as_str);
        let text = text.ok_or_else(|| self.wrong(key, "a text"))?;
        Ok(text.to_owned())
    }

    fn tier(&self) -> Result<Tier, ProfileError> {
        let tier = self.inner("tier")?;
        Ok(Tier {
            above: tier.count("above")?,
            input: tier.price("input", None)?,
            output: tier.price("output", None)?,
        })
    }

    fn inner(&self, key: &'static str) -> Result<Self, ProfileError> {
        let json = self.json.get(key).and_then(Json::as_object);
        let json = json.ok_or_else(|| self.wrong(key, "an object"))?;
        let path = match key {
            "tier" => "tier.",
            _ => "matching.",
        };
        Ok(Self { path, json })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_is_read_and_has_its_source_and_date() {
        let json: Json = serde_json::from_str(include_str!("profiles.json")).unwrap();
        let all = json.as_array().unwrap();
        for profile in all {
            let read = Profile::read(profile).unwrap();
            assert_eq!(
                read.sources.is_empty(),
                read.name == "usual",
                "{}",
                read.name
            );
            for source in profile["sources"].as_array().unwrap() {
                let url = source["url"].as_str().unwrap();
                let date = source["date"].as_str().unwrap();
                assert!(url.starts_with("https://") && date.len() == 10, "{source}");
            }
        }
        assert_eq!(Profile::all().len(), all.len());
        let usual = Profile::named("usual").unwrap().prices;
        assert_eq!(usual, Prices::default());
        assert!(SHOWN.iter().all(|name| Profile::named(name).is_some()));
    }
}
