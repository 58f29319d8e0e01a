//! The case of names that the attribute `rename_all` sets.

use accp_registry::{nearest, words};

/// A way to write names: with capitals, underscores or hyphens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    Lower,
    Upper,
    Pascal,
    Camel,
    Snake,
    ScreamingSnake,
    Kebab,
    ScreamingKebab,
}

/// All cases, with their names. Each name is written in its own case.
const CASES: [(&str, Case); 8] = [
    ("lowercase", Case::Lower),
    ("UPPERCASE", Case::Upper),
    ("PascalCase", Case::Pascal),
    ("camelCase", Case::Camel),
    ("snake_case", Case::Snake),
    ("SCREAMING_SNAKE_CASE", Case::ScreamingSnake),
    ("kebab-case", Case::Kebab),
    ("SCREAMING-KEBAB-CASE", Case::ScreamingKebab),
];

impl Case {
    /// Returns the case with this name.
    ///
    /// # Errors
    /// A message with all names, and the name that was probably meant.
    pub(super) fn named(name: &str) -> Result<Self, String> {
        if let Some((_, case)) = CASES.iter().find(|(other, _)| *other == name) {
            return Ok(*case);
        }
        let names = CASES.map(|(name, _)| name);
        let near = nearest(name, names.iter().copied());
        let all = names.join(", ");
        Err(match near {
            Some(near) => format!("; did you mean `{near}`? (the cases: {all})"),
            None => format!("; the cases: {all}"),
        })
    }

    /// Writes the name of a field or a variant in this case.
    pub(crate) fn apply(self, name: &str) -> String {
        let words: Vec<String> = name
            .split('_')
            .flat_map(words)
            .map(str::to_ascii_lowercase)
            .collect();
        let joined = |by: &str| words.join(by);
        match self {
            Self::Lower => joined(""),
            Self::Upper => joined("").to_ascii_uppercase(),
            Self::Pascal => words.iter().map(|word| capitalised(word)).collect(),
            Self::Camel => {
                let rest = words.iter().skip(1).map(|word| capitalised(word));
                words.iter().take(1).cloned().chain(rest).collect()
            }
            Self::Snake => joined("_"),
            Self::ScreamingSnake => joined("_").to_ascii_uppercase(),
            Self::Kebab => joined("-"),
            Self::ScreamingKebab => joined("-").to_ascii_uppercase(),
        }
    }
}

fn capitalised(word: &str) -> String {
    let mut chars = word.chars();
    let first = chars.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}

#[cfg(test)]
mod tests {
    use super::CASES;

    #[test]
    fn every_case_writes_fields_and_variants() {
        let shown = CASES.map(|(name, case)| {
            let (field, variant) = (case.apply("sku_number"), case.apply("HTTPError"));
            format!("{name}: {field} {variant}")
        });
        assert_eq!(
            shown,
            [
                "lowercase: skunumber httperror",
                "UPPERCASE: SKUNUMBER HTTPERROR",
                "PascalCase: SkuNumber HttpError",
                "camelCase: skuNumber httpError",
                "snake_case: sku_number http_error",
                "SCREAMING_SNAKE_CASE: SKU_NUMBER HTTP_ERROR",
                "kebab-case: sku-number http-error",
                "SCREAMING-KEBAB-CASE: SKU-NUMBER HTTP-ERROR",
            ]
        );
    }
}
