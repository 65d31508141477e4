//! What is ordered.

use std::fs;

use anyhow::{Context, Result, bail, ensure};
use mthp_record::{cost::mark::is_name, workload::Order};

/// Reads the order that is the only argument: JSON, or `@FILE` that holds it.
///
/// # Errors
/// When there is another number of arguments, no file, no order in it, or an order that cannot be.
pub fn from_arguments(arguments: impl IntoIterator<Item = String>) -> Result<Order> {
    let arguments: Vec<String> = arguments.into_iter().collect();
    let [argument] = arguments.as_slice() else {
        bail!("failed to read the order: it is the one argument, as JSON or @FILE")
    };
    let order = match argument.strip_prefix('@') {
        Some(path) => {
            &fs::read_to_string(path).with_context(|| format!("failed to read the order from {path}"))?
        }
        None => argument,
    };
    let order: Order = serde_json::from_str(order).context("failed to read the order")?;
    check(&order).context("failed to accept the order")?;
    Ok(order)
}

/// How many numbers a tensor of this shape has.
///
/// # Errors
/// When there are more than memory can hold.
pub fn numbers(shape: [u32; 4]) -> Result<usize> {
    shape
        .iter()
        .try_fold(1usize, |product, dimension| product.checked_mul(usize::try_from(*dimension).ok()?))
        .filter(|numbers| {
            numbers.checked_mul(size_of::<f32>()).is_some_and(|bytes| isize::try_from(bytes).is_ok())
        })
        .with_context(|| format!("failed to make a tensor of {shape:?}: it is too large"))
}

fn check(order: &Order) -> Result<()> {
    ensure!(!order.shape.contains(&0), "a dimension of the shape {:?} is 0", order.shape);
    ensure!(order.shape[1] == 3, "an image has 3 channels, not {}", order.shape[1]);
    ensure!(order.inferences > 0, "it has no inference");
    ensure!(order.loads > 0, "it has no load");
    // The provider's streams are a byte.
    ensure!(
        (1..=255).contains(&order.in_flight),
        "1 to 255 requests can be in flight, not {}",
        order.in_flight
    );
    if let Some(region) = &order.region {
        ensure!(is_name(region), "`{region}` is no region's name");
        ensure!(order.in_flight == 1, "a region is of one request, not {}", order.in_flight);
        ensure!(order.inferences > 1, "no inference warms up before the region");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use mthp_record::workload::{Decode, Tensors};
    use proptest::prelude::*;

    use super::*;

    fn order() -> Order {
        Order {
            model: "m".into(),
            image: "i".into(),
            runtime: "r".into(),
            shape: [1, 3, 32, 64],
            dimensions: ["", "", "height", "width"].map(String::from),
            inferences: 1,
            in_flight: 1,
            loads: 1,
            tensors: Tensors::Heap,
            region: None,
            decode: Decode::None,
        }
    }

    #[test]
    fn an_order_is_an_argument_or_a_file() {
        let json = serde_json::to_string(&order()).unwrap();
        assert_eq!(from_arguments([json.clone()]).unwrap(), order());
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), json).unwrap();
        assert_eq!(from_arguments([format!("@{}", file.path().display())]).unwrap(), order());
    }

    #[test]
    fn anything_else_is_an_error_that_says_so() {
        let wrong = |change: fn(&mut Order)| {
            let mut order = order();
            change(&mut order);
            vec![serde_json::to_string(&order).unwrap()]
        };
        let region = |change: fn(&mut Order)| {
            let mut order = Order { region: Some("w/a".into()), inferences: 2, ..order() };
            change(&mut order);
            vec![serde_json::to_string(&order).unwrap()]
        };
        assert!(from_arguments(region(|_| ())).is_ok());
        let cases: [(Vec<String>, &str); 12] = [
            (vec![], "the one argument"),
            (vec!["a".into(), "b".into()], "the one argument"),
            (vec!["@/nowhere".into()], "/nowhere"),
            (vec!["{}".into()], "missing field"),
            (wrong(|order| order.shape[0] = 0), "is 0"),
            (wrong(|order| order.shape[1] = 4), "3 channels, not 4"),
            (wrong(|order| order.inferences = 0), "no inference"),
            (wrong(|order| order.loads = 0), "no load"),
            (wrong(|order| order.in_flight = 256), "not 256"),
            (region(|order| order.region = Some("w a".into())), "`w a` is no region's name"),
            (region(|order| order.in_flight = 2), "one request, not 2"),
            (region(|order| order.inferences = 1), "warms up"),
        ];
        for (arguments, part) in cases {
            let error = format!("{:#}", from_arguments(arguments).unwrap_err());
            assert!(error.starts_with("failed to") && error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_tensor_larger_than_memory_is_an_error() {
        assert_eq!(numbers([2, 3, 4, 5]).unwrap(), 120);
        assert!(numbers([u32::MAX; 4]).is_err());
        assert!(numbers([u32::MAX, 1, u32::MAX, 1]).is_err());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in any::<String>()) {
            let _ = from_arguments([text]);
        }
    }
}
