//! A claim, as `configs/claims/ID.toml` declares it.

use std::{collections::BTreeMap, ops::Range, path::PathBuf};

use mthp_judge::{
    file::{self, FileError},
    suite::{MAX_BOOTS, MIN_BOOTS},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::condition::{Condition, is_name};

/// Instead of conditions: when those of the other side do not hold.
pub const OTHERWISE: &str = "otherwise";
/// What fits into a column of a mail.
const MAX_NAME: usize = 14;
const MAX_CLAIMED: usize = 12;
/// The boots of each kernel where a claim does not say.
const BOOTS: u32 = 2;

/// Something that was said of a kernel in public, and what decides it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Its name: the file's, without `.toml`.
    pub id: String,
    /// The claim in a line.
    pub title: String,
    /// What it says, in our words.
    pub text: String,
    /// Who said it, and where.
    pub source: Source,
    /// The suite whose guest and tests decide it; `None` where nothing is measured.
    pub suite: Option<String>,
    /// Boots of each kernel.
    pub boots: u32,
    /// The kernels that decide it, by the short names that its values use.
    pub kernels: BTreeMap<String, Kernel>,
    /// What it comes down to, each under its conditions; at least one.
    pub parts: Vec<Part>,
}

/// Where a claim was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Who made it.
    pub who: String,
    /// Where: a message id, a bug, a pull request, a commit.
    #[serde(rename = "where")]
    pub place: String,
    /// When, as far as is known.
    pub date: Option<String>,
}

/// A kernel that a claim speaks of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// A kernel of `kernels/`.
    pub kernel: String,
    /// Patches on it, relative to the claim's file.
    #[serde(default)]
    pub patches: Vec<PathBuf>,
    /// What it stands for, for example "the rule of 6.8 to 6.11".
    pub stands_for: String,
}

/// One part of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Under which conditions, for example "each map touched right after it was made".
    pub about: String,
    /// What decides it.
    pub decision: Decision,
}

/// What decides a part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Decision {
    /// Values that are measured here.
    Measured {
        /// The values.
        values: Vec<Value>,
        /// It is confirmed when all of these hold; empty: when one of `refuted` does not.
        confirmed: Vec<Condition>,
        /// It is refuted when all of these hold; empty: when one of `confirmed` does not.
        refuted: Vec<Condition>,
        /// Emulation measures the values, but cannot decide by them; why.
        needs_kvm: Option<String>,
    },
    /// Nothing that can be measured here.
    Cannot {
        /// Why.
        why: String,
        /// What it would take.
        needs: String,
    },
}

/// A value that is measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Value {
    /// What conditions call it.
    pub name: String,
    /// On which of the claim's kernels.
    pub kernel: String,
    /// In which test.
    pub test: String,
    /// Which of its findings.
    pub what: What,
    /// What the claim says it is, where it says so.
    pub claimed: Option<String>,
}

/// A finding of a test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// A metric's value.
    Metric(String),
    /// Whether a check holds.
    Check(String),
}

impl What {
    /// The finding's name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Metric(name) | Self::Check(name) => name,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    title: Spanned<String>,
    claim: Spanned<String>,
    source: Spanned<Source>,
    suite: Option<Spanned<String>>,
    boots: Option<Spanned<u32>>,
    #[serde(default)]
    kernels: BTreeMap<Spanned<String>, Spanned<Kernel>>,
    part: Spanned<Vec<Spanned<RawPart>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPart {
    about: String,
    #[serde(default)]
    values: Vec<Spanned<RawValue>>,
    #[serde(default)]
    confirmed: Vec<Spanned<String>>,
    #[serde(default)]
    refuted: Vec<Spanned<String>>,
    needs_kvm: Option<String>,
    cannot: Option<String>,
    needs: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawValue {
    name: String,
    kernel: String,
    test: String,
    metric: Option<String>,
    check: Option<String>,
    claimed: Option<String>,
}

impl Claim {
    /// Reads a claim's file; `id` is the file's name without `.toml`.
    ///
    /// # Errors
    /// When the text is no claim, or one that nothing could decide. The error names the line.
    pub fn parse(id: &str, text: &str) -> Result<Self, FileError> {
        let raw: Raw = file::parse(text)?;
        let reader = Reader(text);
        for (what, missing) in
            [(&raw.title, "a claim has a title"), (&raw.claim, "a claim says what was said, in our words")]
        {
            if what.get_ref().trim().is_empty() {
                return reader.fault(what.span(), missing);
            }
        }
        let Source { who, place, .. } = raw.source.get_ref();
        if who.trim().is_empty() || place.trim().is_empty() {
            return reader.fault(raw.source.span(), "a claim's source says who made it and where");
        }
        if let Some(boots) = &raw.boots
            && !(MIN_BOOTS..=MAX_BOOTS).contains(boots.get_ref())
        {
            return reader.fault(boots.span(), &format!("boots must be {MIN_BOOTS} to {MAX_BOOTS}"));
        }
        let mut kernels = BTreeMap::new();
        for (name, kernel) in raw.kernels {
            if !is_name(name.get_ref()) {
                return reader
                    .fault(name.span(), "a kernel's short name is lower-case letters, digits and -");
            }
            if kernel.get_ref().stands_for.trim().is_empty() {
                return reader.fault(kernel.span(), "stands_for says what the kernel stands for");
            }
            kernels.insert(name.into_inner(), kernel.into_inner());
        }
        if raw.part.get_ref().is_empty() {
            return reader.fault(raw.part.span(), "a claim has at least one [[part]]");
        }
        let mut parts = Vec::new();
        for part in raw.part.into_inner() {
            parts.push(reader.part(part, &kernels, raw.suite.is_some())?);
        }
        Ok(Self {
            id: id.to_owned(),
            title: raw.title.into_inner(),
            text: raw.claim.into_inner(),
            source: raw.source.into_inner(),
            suite: raw.suite.map(Spanned::into_inner),
            boots: raw.boots.map_or(BOOTS, Spanned::into_inner),
            kernels,
            parts,
        })
    }

    /// Every value that must be measured.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.parts.iter().flat_map(|part| match &part.decision {
            Decision::Measured { values, .. } => values.as_slice(),
            Decision::Cannot { .. } => &[],
        })
    }
}

struct Reader<'a>(&'a str);

impl Reader<'_> {
    fn fault<T>(&self, span: Range<usize>, message: &str) -> Result<T, FileError> {
        Err(FileError::at(self.0, &span, message.to_owned()))
    }

    fn part(
        &self,
        part: Spanned<RawPart>,
        kernels: &BTreeMap<String, Kernel>,
        has_suite: bool,
    ) -> Result<Part, FileError> {
        let span = part.span();
        let part = part.into_inner();
        if part.about.trim().is_empty() {
            return self.fault(span, "about says under which conditions");
        }
        let measured = !part.values.is_empty() || !part.confirmed.is_empty() || !part.refuted.is_empty();
        let decision = match (part.cannot, part.needs) {
            (Some(why), Some(needs)) if !measured && part.needs_kvm.is_none() => {
                if why.trim().is_empty() || needs.trim().is_empty() {
                    return self.fault(span, "cannot says why, needs says what it would take");
                }
                Decision::Cannot { why, needs }
            }
            (None, None) if measured && has_suite => {
                let values = self.values(part.values, kernels)?;
                if part.confirmed.is_empty() || part.refuted.is_empty() {
                    return self.fault(span, "a part says what confirms it and what refutes it");
                }
                let confirmed = self.conditions(part.confirmed, &values)?;
                let refuted = self.conditions(part.refuted, &values)?;
                if confirmed.is_empty() && refuted.is_empty() {
                    return self.fault(span, "only one of the two can be \"otherwise\"");
                }
                let used = |value: &&Value| {
                    confirmed.iter().chain(&refuted).any(|it| it.names().any(|name| name == value.name))
                };
                if let Some(value) = values.iter().find(|value| !used(value)) {
                    return self.fault(span, &format!("no condition speaks of the value {}", value.name));
                }
                Decision::Measured { values, confirmed, refuted, needs_kvm: part.needs_kvm }
            }
            (None, None) if measured => {
                return self.fault(span, "what is measured needs the suite in which it is");
            }
            _ => {
                let either = "a part has either values, confirmed and refuted, or cannot and needs";
                return self.fault(span, either);
            }
        };
        Ok(Part { about: part.about, decision })
    }

    fn values(
        &self,
        raw: Vec<Spanned<RawValue>>,
        kernels: &BTreeMap<String, Kernel>,
    ) -> Result<Vec<Value>, FileError> {
        let mut values: Vec<Value> = Vec::new();
        for value in raw {
            let span = value.span();
            let RawValue { name, kernel, test, metric, check, claimed } = value.into_inner();
            if !is_name(&name) || name.len() > MAX_NAME {
                return self.fault(
                    span,
                    &format!("a value's name is lower-case letters, digits and -, {MAX_NAME} at most"),
                );
            }
            if values.iter().any(|other| other.name == name) {
                return self.fault(span, &format!("a second value is called {name}"));
            }
            if !kernels.contains_key(&kernel) {
                return self.fault(span, &format!("there is no [kernels.{kernel}]"));
            }
            let what = match (metric, check) {
                (Some(metric), None) => What::Metric(metric),
                (None, Some(check)) => What::Check(check),
                _ => return self.fault(span, "a value is either a metric or a check of its test"),
            };
            if claimed.as_ref().is_some_and(|words| words.chars().count() > MAX_CLAIMED) {
                return self.fault(span, &format!("what is claimed is {MAX_CLAIMED} characters at most"));
            }
            if test.contains('*') {
                return self.fault(span, "a value names one test");
            }
            if test.trim().is_empty() || what.name().trim().is_empty() {
                return self.fault(span, "a value names a test and a finding of it");
            }
            values.push(Value { name, kernel, test, what, claimed });
        }
        Ok(values)
    }

    /// No conditions stand for "otherwise".
    fn conditions(&self, raw: Vec<Spanned<String>>, values: &[Value]) -> Result<Vec<Condition>, FileError> {
        if let [only] = raw.as_slice()
            && only.get_ref() == OTHERWISE
        {
            return Ok(Vec::new());
        }
        let mut conditions = Vec::new();
        for text in raw {
            let span = text.span();
            let condition: Condition = match text.into_inner().parse() {
                Ok(condition) => condition,
                Err(problem) => return self.fault(span, &problem),
            };
            let names: Vec<&str> = condition.names().collect();
            if names.is_empty()
                || names
                    .iter()
                    .enumerate()
                    .any(|(at, name)| names.iter().skip(at + 1).any(|other| other == name))
            {
                return self.fault(span, "a condition compares a value with another one or with a number");
            }
            if let Some(name) = condition.names().find(|name| !values.iter().any(|value| value.name == *name))
            {
                return self.fault(span, &format!("no value of this part is called {name}"));
            }
            conditions.push(condition);
        }
        Ok(conditions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) const FAULTS: &str = include_str!("../../../../configs/claims/page-faults-went-up.toml");

    fn error(from: &str, to: &str) -> String {
        assert!(FAULTS.contains(from), "the shipped claim no longer has {from}");
        Claim::parse("x", &FAULTS.replacen(from, to, 1)).unwrap_err().to_string()
    }

    #[test]
    fn a_shipped_claim_parses() {
        let claim = Claim::parse("page-faults-went-up", FAULTS).unwrap();
        assert_eq!(claim.parts.len(), 2);
        assert!(claim.values().all(|value| claim.kernels.contains_key(&value.kernel)));
    }

    #[test]
    fn a_malformed_claim_is_an_error_with_its_line() {
        let line = |of: &str| FAULTS.lines().position(|line| line.starts_with(of)).unwrap() + 1;
        let unknown = error("title = ", "titel = ");
        assert!(unknown.starts_with(&format!("line {}: unknown field `titel`", line("title"))), "{unknown}");
        let condition = error("refuted = [\"", "refuted = [\"x <> ");
        assert!(condition.starts_with(&format!("line {}: ", line("refuted"))), "{condition}");
        let kernel = error("kernel = \"old\"", "kernel = \"odd\"");
        assert!(kernel.contains("there is no [kernels.odd]"), "{kernel}");
        assert!(error("suite = \"alignment\"\n", "").contains("needs the suite"));
        assert!(error("metric = ", "check = \"x\", metric = ").contains("either a metric or a check"));
        let name = error("confirmed = [\"old", "confirmed = [\"older");
        assert!(name.contains("no value of this part is called older"), "{name}");
        assert!(error("who = \"", "who = \"\"\nx = \"").contains("unknown field"));
        assert!(error("refuted = [\"old <= new\"]", "refuted = [\"1 == 2\"]").contains("compares a value"));
        assert!(
            error("confirmed = [\"old > new\"]", "confirmed = [\"old == old\"]").contains("compares a value")
        );
        assert!(error("claimed = \"more\"", "claimed = \"more than anything\"").contains("at most"));
        assert!(error("placement/4632KiB", "placement/*").contains("names one test"));
        let both = FAULTS.replace("confirmed = [\"old > new\"]", "confirmed = [\"otherwise\"]");
        assert!(Claim::parse("x", &both).is_ok());
        let both = both.replace("refuted = [\"old <= new\"]", "refuted = [\"otherwise\"]");
        assert!(Claim::parse("x", &both).unwrap_err().to_string().contains("only one of the two"));
        let idle = error(
            "values = [",
            "values = [{ name = \"idle\", kernel = \"new\", test = \"t\", metric = \"m\" },",
        );
        assert!(idle.contains("no condition speaks of the value idle"), "{idle}");
        assert!(error("about = ", "cannot = \"because\"\nabout = ").contains("either values"));
    }
}
