//! A tensor of a checkpoint: numbers that lie in a storage, from an offset on, with a stride a dimension.

use anyhow::{Context as _, Result, bail, ensure};

use crate::archive::Storages;
use crate::view::View;

/// The most dimensions a tensor may have; YOLOv5's have up to 6.
const MAX_DIMENSIONS: usize = 8;

/// A tensor, its last dimension contiguous. It has at least one element.
#[derive(Debug, PartialEq)]
pub(crate) struct Tensor {
    pub(crate) shape: Vec<usize>,
    pub(crate) data: Vec<f32>,
}

impl Tensor {
    /// The tensor, or the parameter around it, at a place in the pickle.
    pub(crate) fn read(view: View<'_>, storages: &Storages) -> Result<Self> {
        let (maker, arguments) = view.call()?;
        match maker {
            "torch._utils._rebuild_parameter" => {
                let [tensor, ..] = arguments.array::<3>()?;
                Self::rebuild(tensor, storages)
            }
            _ => Self::rebuild(view, storages),
        }
    }

    fn rebuild(view: View<'_>, storages: &Storages) -> Result<Self> {
        let (maker, arguments) = view.call()?;
        ensure!(maker == "torch._utils._rebuild_tensor_v2", "a tensor made by `{maker}` is not known");
        let [storage, offset, shape, strides, ..] = arguments.array::<6>()?;
        let numbers = Numbers::of(storage, storages)?;
        let (offset, shape, strides) = (offset.size()?, shape.sizes()?, strides.sizes()?);
        let data = gather(&numbers, offset, &shape, &strides)?;
        Ok(Self { shape, data })
    }

    /// Fails unless the tensor has this shape.
    pub(crate) fn expect_shape(self, shape: &[usize]) -> Result<Self> {
        ensure!(self.shape == shape, "expected a tensor of the shape {shape:?}, found {:?}", self.shape);
        Ok(self)
    }
}

/// The numbers of a storage.
enum Numbers<'a> {
    Half(&'a [[u8; 2]]),
    Float(&'a [[u8; 4]]),
}

impl<'a> Numbers<'a> {
    fn of(storage: View<'_>, storages: &'a Storages) -> Result<Self> {
        let [kind, class, key, _location, _length] = storage.persistent()?.array()?;
        ensure!(kind.text()? == "storage", "a persistent identifier is no storage");
        let key = key.text()?;
        let bytes = storages.get(key).with_context(|| format!("the archive has no storage `{key}`"))?;
        match class.global()? {
            "torch.HalfStorage" => Ok(Self::Half(bytes.as_chunks().0)),
            "torch.FloatStorage" => Ok(Self::Float(bytes.as_chunks().0)),
            other => bail!("storage `{key}` is a `{other}`, neither half nor float"),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Half(numbers) => numbers.len(),
            Self::Float(numbers) => numbers.len(),
        }
    }

    fn at(&self, index: usize) -> f32 {
        match self {
            Self::Half(numbers) => float_of_half(u16::from_le_bytes(numbers[index])),
            Self::Float(numbers) => f32::from_le_bytes(numbers[index]),
        }
    }
}

/// The numbers of a strided tensor in the order of its indices.
fn gather(numbers: &Numbers<'_>, offset: usize, shape: &[usize], strides: &[usize]) -> Result<Vec<f32>> {
    ensure!(shape.len() == strides.len(), "a tensor has {} sizes, {} strides", shape.len(), strides.len());
    ensure!(shape.len() <= MAX_DIMENSIONS, "a tensor has {} dimensions", shape.len());
    let count = shape.iter().try_fold(1_usize, |count, size| count.checked_mul(*size));
    // No weight is saved with its elements repeated, so a larger count would be a way to ask for much memory.
    let count = count.filter(|count| (1..=numbers.len()).contains(count));
    let count = count.with_context(|| format!("a storage of {} has no tensor {shape:?}", numbers.len()))?;
    let last = shape
        .iter()
        .zip(strides)
        .try_fold(offset, |last, (size, stride)| last.checked_add((size - 1).checked_mul(*stride)?));
    ensure!(last.is_some_and(|last| last < numbers.len()), "a tensor reaches beyond its storage");

    let element = |index: usize| {
        let (mut rest, mut at) = (index, offset);
        for (size, stride) in shape.iter().zip(strides).rev() {
            at += rest % size * stride;
            rest /= size;
        }
        numbers.at(at)
    };
    Ok((0..count).map(element).collect())
}

/// The value of an IEEE 754 half.
fn float_of_half(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let (exponent, fraction) = (u32::from(bits >> 10 & 0x1f), u32::from(bits & 0x3ff));
    let magnitude = match exponent {
        // Zero and the subnormals, whose last bit weighs 2^-24.
        0 => (f32::from(bits & 0x3ff) / 16_777_216.0).to_bits(),
        31 => 0xff << 23 | fraction << 13,
        _ => (exponent + 127 - 15) << 23 | fraction << 13,
    };
    f32::from_bits(sign | magnitude)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pickle::Pickle;
    use crate::sample::{Checkpoint, Py};

    fn read(make: impl FnOnce(&mut Checkpoint) -> Py) -> Result<Tensor> {
        let mut checkpoint = Checkpoint::default();
        let tensor = make(&mut checkpoint);
        let pickle = Pickle::read(&tensor.pickle()).unwrap();
        Tensor::read(pickle.root(), &checkpoint.storages())
    }

    fn strided(count: u8, offset: i32, shape: &[i32], strides: &[i32]) -> Result<Tensor> {
        let bytes = (0..count).flat_map(|number| f32::from(number).to_le_bytes());
        read(|checkpoint| checkpoint.strided("FloatStorage", bytes, offset, shape, strides))
    }

    #[test]
    fn a_tensor_is_read_in_the_order_of_its_indices() {
        let plain = strided(6, 0, &[2, 3], &[3, 1]).unwrap();
        assert_eq!(plain, Tensor { shape: vec![2, 3], data: vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0] });
        let transposed = strided(6, 0, &[3, 2], &[1, 3]).unwrap();
        assert_eq!(transposed.data, [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
        let part = strided(6, 1, &[2], &[3]).unwrap();
        assert_eq!(part.data, [1.0, 4.0]);
        let scalar = strided(6, 5, &[], &[]).unwrap();
        assert_eq!(scalar, Tensor { shape: vec![], data: vec![5.0] });
    }

    #[test]
    fn a_tensor_beyond_its_storage_is_an_error() {
        let error = |offset, shape: &[i32], strides: &[i32]| {
            format!("{:#}", strided(6, offset, shape, strides).unwrap_err())
        };
        assert_eq!(error(1, &[6], &[1]), "a tensor reaches beyond its storage");
        assert_eq!(error(0, &[2], &[i32::MAX]), "a tensor reaches beyond its storage");
        assert_eq!(error(0, &[7], &[0]), "a storage of 6 has no tensor [7]");
        assert_eq!(error(0, &[0, 2], &[1, 1]), "a storage of 6 has no tensor [0, 2]");
        assert!(error(0, &[i32::MAX; 8], &[0; 8]).starts_with("a storage of 6 has no tensor"));
        assert_eq!(error(0, &[2], &[]), "a tensor has 1 sizes, 0 strides");
        assert_eq!(error(0, &[1; 9], &[1; 9]), "a tensor has 9 dimensions");
        assert_eq!(
            error(-1, &[2], &[1]),
            "expected a size, found -1: out of range integral type conversion attempted"
        );
    }

    #[test]
    fn halves_become_floats() {
        let bits = |half: u16| float_of_half(half).to_bits();
        assert_eq!(float_of_half(0x3c00), 1.0);
        assert_eq!(float_of_half(0xc000), -2.0);
        assert_eq!(float_of_half(0x7bff), 65504.0);
        assert_eq!(float_of_half(0x3555), 0.333_251_95);
        assert_eq!(float_of_half(0x0001), 2.0_f32.powi(-24));
        assert_eq!(float_of_half(0x0400), 2.0_f32.powi(-14));
        assert_eq!(bits(0x8000), (-0.0_f32).to_bits());
        assert_eq!(float_of_half(0xfc00), f32::NEG_INFINITY);
        assert!(float_of_half(0x7e00).is_nan());
        let tensor =
            read(|checkpoint| checkpoint.strided("HalfStorage", [0, 0x3c, 0, 0xc0], 0, &[2], &[1])).unwrap();
        assert_eq!(tensor.data, [1.0, -2.0]);
    }

    #[test]
    fn a_storage_of_another_type_is_an_error() {
        let error = read(|checkpoint| checkpoint.strided("LongStorage", [0; 8], 0, &[1], &[1])).unwrap_err();
        assert_eq!(error.to_string(), "storage `0` is a `torch.LongStorage`, neither half nor float");
    }
}
