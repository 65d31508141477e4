//! PyTorch's `Conv2d`, and the batch normalization that is folded into it.

use anyhow::{Context as _, Result, bail, ensure};

use crate::graph::{Graph, Name};
use crate::module::Module;
use crate::onnx::AttributeProto;
use crate::tensor::Tensor;
use crate::view::View;

/// Adds a convolution, and the normalization of its output if there is one.
pub(crate) fn convolution(
    graph: &mut Graph,
    module: &Module<'_>,
    normalization: Option<&Module<'_>>,
    input: &str,
) -> Result<Name> {
    module.expect("padding_mode", View::text, "zeros")?;
    module.expect("transposed", View::bool, false)?;
    let weights = Weights::read(module)?;
    let weights = match normalization {
        Some(normalization) => weights.fold(normalization)?,
        None => weights,
    };
    let finite = weights.bias.iter().chain(&weights.weight.data).all(|number| number.is_finite());
    ensure!(finite, "the weights of `{}` are not finite", module.path);

    let pair = |name| module.read(name, pair);
    let [top, left] = pair("padding")?;
    let attributes = vec![
        AttributeProto::ints("dilations", &pair("dilation")?),
        AttributeProto::int("group", module.read("groups", View::int)?),
        AttributeProto::ints("kernel_shape", &pair("kernel_size")?),
        AttributeProto::ints("pads", &[top, left, top, left]),
        AttributeProto::ints("strides", &pair("stride")?),
    ];
    let path = &module.path;
    let weight = graph.floats(format!("{path}.weight"), &weights.weight.shape, &weights.weight.data)?;
    let bias = graph.floats(format!("{path}.bias"), &[weights.bias.len()], &weights.bias)?;
    Ok(graph.node("Conv", path.clone(), &[input, &weight, &bias], attributes))
}

/// A kernel's size, a stride and the like: one integer for both directions, or a pair.
pub(crate) fn pair(view: View<'_>) -> Result<[i64; 2]> {
    if let Ok(both) = view.int() {
        return Ok([both; 2]);
    }
    let [vertical, horizontal] = view.array()?;
    Ok([vertical.int()?, horizontal.int()?])
}

/// What a convolution multiplies with and adds.
struct Weights {
    /// Output channels, input channels, height, width.
    weight: Tensor,
    /// One an output channel.
    bias: Vec<f32>,
}

impl Weights {
    fn read(module: &Module<'_>) -> Result<Self> {
        let weight = module.tensor("weight")?;
        let weight = weight.with_context(|| format!("`{}` has no weight", module.path))?;
        let [channels, _, _, _] = weight.shape[..] else {
            bail!("the weight of `{}` has the shape {:?}, not four sizes", module.path, weight.shape)
        };
        let bias = match module.tensor("bias")? {
            Some(bias) => bias.expect_shape(&[channels])?.data,
            None => vec![0.0; channels],
        };
        Ok(Self { weight, bias })
    }

    /// Multiplies the normalization into the weights: with `scale = gamma / sqrt(variance + eps)` it is
    /// `scale * (x - mean) + beta`. In double precision, rounded once.
    fn fold(mut self, normalization: &Module<'_>) -> Result<Self> {
        let channels = self.bias.len();
        let vector = |name| normalization.tensor_of(name, &[channels]).map(|tensor| tensor.data);
        let (gamma, beta) = (vector("weight")?, vector("bias")?);
        let (mean, variance) = (vector("running_mean")?, vector("running_var")?);
        let eps = normalization.read("eps", View::float)?;

        let per_channel = self.weight.data.len() / channels;
        for (channel, weights) in self.weight.data.chunks_exact_mut(per_channel).enumerate() {
            let scale = f64::from(gamma[channel]) / (f64::from(variance[channel]) + eps).sqrt();
            let bias = f64::from(self.bias[channel]) - f64::from(mean[channel]);
            self.bias[channel] = round(bias * scale + f64::from(beta[channel]));
            for weight in weights {
                *weight = round(f64::from(*weight) * scale);
            }
        }
        Ok(self)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "to round is its purpose")]
fn round(number: f64) -> f32 {
    number as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pickle::Pickle;
    use crate::sample::{Checkpoint, Py, dict};

    fn with_module<T>(checkpoint: &Checkpoint, module: Py, run: impl FnOnce(Module<'_>) -> T) -> T {
        let pickle = Pickle::read(&dict(vec![("model", module)]).pickle()).unwrap();
        run(Module::of_checkpoint(pickle.root(), &checkpoint.storages()).unwrap())
    }

    #[test]
    fn the_normalization_is_multiplied_into_the_weights() {
        let mut checkpoint = Checkpoint::default();
        let conv = checkpoint.conv(3, 2, 1).build();
        let folded = with_module(&checkpoint, conv, |module| {
            Weights::read(&module.child("conv").unwrap()).unwrap().fold(&module.child("bn").unwrap()).unwrap()
        });
        // The weights of one half are halved; the normalization makes 2.5 of 0.
        assert_eq!(folded.weight, Tensor { shape: vec![2, 3, 1, 1], data: vec![0.25; 6] });
        assert_eq!(folded.bias, [2.5, 2.5]);
    }

    #[test]
    fn a_normalization_of_other_channels_is_an_error() {
        let mut checkpoint = Checkpoint::default();
        let children = vec![("conv", checkpoint.conv2d(3, 2, 1, false)), ("bn", checkpoint.batch_norm(3))];
        let module = crate::sample::module(("models.common", "Conv")).children(children).build();
        let error = with_module(&checkpoint, module, |module| {
            Weights::read(&module.child("conv").unwrap())
                .unwrap()
                .fold(&module.child("bn").unwrap())
                .err()
                .unwrap()
        });
        assert_eq!(
            format!("{error:#}"),
            "failed to read `bn.weight`: expected a tensor of the shape [2], found [3]"
        );
    }

    #[test]
    fn a_size_is_one_integer_or_two() {
        let read = |py: Py| pair(Pickle::read(&py.pickle()).unwrap().root());
        assert_eq!(read(Py::Int(3)).unwrap(), [3, 3]);
        assert_eq!(read(crate::sample::tuple(&[1, 2])).unwrap(), [1, 2]);
        assert!(read(Py::Text("same")).is_err());
    }
}
