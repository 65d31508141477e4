//! Looking at a pickle's values by what they ought to be.

use anyhow::{Context as _, Result, bail};

use crate::pickle::{Id, Pickle, Value};

/// One value of a pickle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pickle: &'a Pickle,
    id: Id,
}

impl<'a> View<'a> {
    pub(crate) fn new(pickle: &'a Pickle, id: Id) -> Self {
        Self { pickle, id }
    }

    fn value(self) -> &'a Value {
        self.pickle.value(self.id)
    }

    fn at(self, id: Id) -> Self {
        Self { id, ..self }
    }

    pub(crate) fn is_none(self) -> bool {
        matches!(self.value(), Value::None)
    }

    pub(crate) fn bool(self) -> Result<bool> {
        match self.value() {
            Value::Bool(is) => Ok(*is),
            other => bail!("expected a boolean, found {}", other.kind()),
        }
    }

    pub(crate) fn int(self) -> Result<i64> {
        match self.value() {
            Value::Int(number) => Ok(*number),
            other => bail!("expected an integer, found {}", other.kind()),
        }
    }

    pub(crate) fn size(self) -> Result<usize> {
        let number = self.int()?;
        usize::try_from(number).with_context(|| format!("expected a size, found {number}"))
    }

    /// A number, be it written as an integer or not.
    pub(crate) fn float(self) -> Result<f64> {
        match self.value() {
            Value::Float(number) => Ok(*number),
            #[expect(clippy::cast_precision_loss, reason = "as Python does it")]
            Value::Int(number) => Ok(*number as f64),
            other => bail!("expected a number, found {}", other.kind()),
        }
    }

    pub(crate) fn text(self) -> Result<&'a str> {
        match self.value() {
            Value::Text(text) => Ok(text),
            other => bail!("expected a text, found {}", other.kind()),
        }
    }

    /// The items of a list or tuple.
    pub(crate) fn items(self) -> Result<Vec<Self>> {
        match self.value() {
            Value::List(items) | Value::Tuple(items) => Ok(items.iter().map(|id| self.at(*id)).collect()),
            other => bail!("expected a list or a tuple, found {}", other.kind()),
        }
    }

    /// The items of a list or tuple of a known length.
    pub(crate) fn array<const N: usize>(self) -> Result<[Self; N]> {
        let items = self.items()?;
        let found = items.len();
        items.try_into().ok().with_context(|| format!("expected {N} items, found {found}"))
    }

    /// The sizes in a list or tuple.
    pub(crate) fn sizes(self) -> Result<Vec<usize>> {
        self.items()?.into_iter().map(Self::size).collect()
    }

    fn entries(self) -> Result<&'a [(Id, Id)]> {
        match self.value() {
            Value::Dict(entries) | Value::Object { entries, .. } => Ok(entries),
            other => bail!("expected a dictionary, found {}", other.kind()),
        }
    }

    /// The values of a dictionary, in its order.
    pub(crate) fn values(self) -> Result<Vec<Self>> {
        Ok(self.entries()?.iter().map(|(_, value)| self.at(*value)).collect())
    }

    /// The value of a text key in a dictionary, or in what is filled as one.
    pub(crate) fn find(self, key: &str) -> Result<Option<Self>> {
        let is_it = |id: Id| matches!(self.pickle.value(id), Value::Text(text) if text == key);
        Ok(self.entries()?.iter().rev().find(|(id, _)| is_it(*id)).map(|(_, value)| self.at(*value)))
    }

    /// The same, where it must be there.
    pub(crate) fn get(self, key: &str) -> Result<Self> {
        self.find(key)?.with_context(|| format!("there is no `{key}`"))
    }

    /// The full name of a class or function.
    pub(crate) fn global(self) -> Result<&'a str> {
        match self.value() {
            Value::Global(name) => Ok(name),
            other => bail!("expected a global, found {}", other.kind()),
        }
    }

    /// What an object was made by, and from which arguments.
    pub(crate) fn call(self) -> Result<(&'a str, Self)> {
        match self.value() {
            Value::Object { callable, arguments, .. } => {
                Ok((self.at(*callable).global()?, self.at(*arguments)))
            }
            other => bail!("expected an object, found {}", other.kind()),
        }
    }

    /// What an object is restored from.
    pub(crate) fn state(self) -> Result<Self> {
        match self.value() {
            Value::Object { state: Some(state), .. } => Ok(self.at(*state)),
            Value::Object { .. } => bail!("the object has no state"),
            other => bail!("expected an object, found {}", other.kind()),
        }
    }

    /// The identifier of what lies outside of the pickle.
    pub(crate) fn persistent(self) -> Result<Self> {
        match self.value() {
            Value::Persistent(identifier) => Ok(self.at(*identifier)),
            other => bail!("expected a persistent identifier, found {}", other.kind()),
        }
    }
}
