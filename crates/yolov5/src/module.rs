//! PyTorch's modules: an object with attributes, parameters, buffers, and modules below it.

use anyhow::{Context as _, Result, ensure};

use crate::archive::Storages;
use crate::tensor::Tensor;
use crate::view::View;

/// One module of a checkpoint.
#[derive(Clone, Debug)]
pub(crate) struct Module<'a> {
    /// Its name from the model on, as PyTorch's `state_dict` has it, for example `model.2.cv1`.
    pub(crate) path: String,
    /// Its class in full, for example `models.common.Conv`.
    pub(crate) class: &'a str,
    state: View<'a>,
    storages: &'a Storages,
}

impl<'a> Module<'a> {
    /// The model of a checkpoint that YOLOv5's `train.py` has saved.
    pub(crate) fn of_checkpoint(root: View<'a>, storages: &'a Storages) -> Result<Self> {
        let model = root.get("model").context("failed to find the model in the checkpoint")?;
        Self::new(model, storages, String::new()).context("failed to read the checkpoint's model")
    }

    fn new(view: View<'a>, storages: &'a Storages, path: String) -> Result<Self> {
        let (class, _) = view.call()?;
        let state = view.state()?;
        Ok(Self { path, class, state, storages })
    }

    /// Fails unless the module is of this class.
    pub(crate) fn expect_class(self, class: &str) -> Result<Self> {
        ensure!(self.class == class, "`{}` is a `{}`, not a `{class}`", self.path, self.class);
        Ok(self)
    }

    /// A plain attribute.
    pub(crate) fn attribute(&self, name: &str) -> Result<View<'a>> {
        self.state.get(name).with_context(|| self.failed(name))
    }

    /// An attribute, read as what it ought to be.
    pub(crate) fn read<T>(&self, name: &str, as_what: impl FnOnce(View<'a>) -> Result<T>) -> Result<T> {
        as_what(self.attribute(name)?).with_context(|| self.failed(name))
    }

    /// Fails unless an attribute is what this crate can convert.
    pub(crate) fn expect<T: PartialEq + std::fmt::Debug>(
        &self,
        name: &str,
        as_what: impl FnOnce(View<'a>) -> Result<T>,
        expected: T,
    ) -> Result<()> {
        let found = self.read(name, as_what)?;
        ensure!(found == expected, "`{name}` of `{}` is {found:?}, not {expected:?}", self.path);
        Ok(())
    }

    /// The module below with this name.
    pub(crate) fn child(&self, name: &str) -> Result<Self> {
        let view = self.state.get("_modules").and_then(|modules| modules.get(name));
        view.and_then(|view| Self::new(view, self.storages, self.below(name)))
            .with_context(|| self.failed(name))
    }

    /// The modules below, in their order; for a container.
    pub(crate) fn children(&self) -> Result<Vec<Self>> {
        let views =
            self.state.get("_modules").and_then(View::values).with_context(|| self.failed("_modules"))?;
        let child = |(index, view): (usize, _)| {
            let path = self.below(&index.to_string());
            Self::new(view, self.storages, path.clone()).with_context(|| format!("failed to read `{path}`"))
        };
        views.into_iter().enumerate().map(child).collect()
    }

    /// A parameter, a buffer, or an attribute that is a tensor; `None` if it is set to none.
    pub(crate) fn tensor(&self, name: &str) -> Result<Option<Tensor>> {
        self.find_tensor(name).with_context(|| self.failed(name))
    }

    /// A tensor of a known shape.
    pub(crate) fn tensor_of(&self, name: &str, shape: &[usize]) -> Result<Tensor> {
        let tensor =
            self.find_tensor(name).and_then(|tensor| tensor.context("it is none")?.expect_shape(shape));
        tensor.with_context(|| self.failed(name))
    }

    fn find_tensor(&self, name: &str) -> Result<Option<Tensor>> {
        let parameter = self.state.get("_parameters")?.find(name)?;
        let buffer = self.state.get("_buffers")?.find(name)?;
        let view = match parameter.or(buffer) {
            Some(view) => view,
            None => self.state.get(name)?,
        };
        if view.is_none() { Ok(None) } else { Tensor::read(view, self.storages).map(Some) }
    }

    fn below(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    fn failed(&self, name: &str) -> String {
        format!("failed to read `{}`", self.below(name))
    }
}
