//! All inferences of all requests, and when they ended.

use std::{
    fmt::Write,
    sync::{Barrier, Mutex, PoisonError},
    thread,
    time::Instant,
};

use anyhow::{Context, Result, anyhow};
use mthp_record::workload::{Modelled, Phase};

use crate::{
    mark::mark,
    modelled,
    request::{Request, Run},
    runtime::micros,
};

/// What one inference was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inference {
    /// Its place in the order in which they ended, from 1, over all requests.
    number: u32,
    /// How long it took, in microseconds.
    pub micros: u64,
    /// The SHA-256 of its output.
    digest: [u8; 32],
}

impl Inference {
    /// The output's SHA-256, in 64 hexadecimal digits.
    pub fn hexadecimal(&self) -> String {
        self.digest.iter().fold(String::with_capacity(64), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

/// What all of them were.
pub struct Done {
    /// In the order in which they ended.
    pub inferences: Vec<Inference>,
    /// The index of the request that ended last.
    pub last_request: Option<usize>,
    /// What was found around the region, if one was asked for.
    pub modelled: Option<Modelled>,
}

/// Makes `inferences` runs of each request, all requests at the same time; the last one of a single request is the region
/// of that name, if one is given.
///
/// # Errors
/// The first of any run.
pub fn run(requests: &mut [Request<'_>], inferences: u32, region: Option<&str>) -> Result<Done> {
    let ended = Mutex::new(0);
    let mut modelled = None;
    let each: Vec<Vec<Inference>> = match requests {
        // Synchronous: no thread, as in a program that knows none.
        [request] => {
            let mut run = request.prepared();
            let outside = inferences.saturating_sub(u32::from(region.is_some()));
            let mut done = runs(&mut run, outside, &ended)?;
            if let Some(name) = region {
                done.push(one(&mut run, &ended, |run| {
                    modelled = Some(modelled::inside(name, || run.once())?);
                    Ok(())
                })?);
            }
            vec![done]
        }
        requests => {
            let together = Barrier::new(requests.len());
            thread::scope(|scope| {
                let threads: Vec<_> = requests
                    .iter_mut()
                    .map(|request| {
                        scope.spawn(|| {
                            together.wait();
                            runs(&mut request.prepared(), inferences, &ended)
                        })
                    })
                    .collect();
                threads
                    .into_iter()
                    .map(|thread| thread.join().map_err(|_| anyhow!("a request panicked"))?)
                    .collect::<Result<_>>()
            })
            .context("failed to run all requests")?
        }
    };
    Ok(Done { modelled, ..in_order(each) })
}

/// Some runs of one request, one after the other.
fn runs(run: &mut Run<'_, '_>, inferences: u32, ended: &Mutex<u32>) -> Result<Vec<Inference>> {
    (0..inferences).map(|_| one(run, ended, Run::once)).collect()
}

/// One run, which `infer` makes.
fn one<'r, 'a>(
    run: &mut Run<'r, 'a>,
    ended: &Mutex<u32>,
    infer: impl FnOnce(&mut Run<'r, 'a>) -> Result<()>,
) -> Result<Inference> {
    let start = Instant::now();
    infer(run)?;
    let micros = micros(start.elapsed());
    let number = {
        let mut ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
        *ended += 1;
        // Marked under the lock: marks come in the order of their numbers.
        mark(Phase::Inferred, *ended);
        *ended
    };
    Ok(Inference { number, micros, digest: run.digest()? })
}

fn in_order(each: Vec<Vec<Inference>>) -> Done {
    let last = |inferences: &[Inference]| inferences.last().map(|inference| inference.number);
    let last_request = (0..each.len()).max_by_key(|index| last(&each[*index]));
    let mut inferences: Vec<Inference> = each.into_iter().flatten().collect();
    inferences.sort_by_key(|inference| inference.number);
    Done { inferences, last_request, modelled: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inferences_are_in_the_order_in_which_they_ended() {
        let inference =
            |number: u32| Inference { number, micros: u64::from(number), digest: [number as u8; 32] };
        let done = in_order(vec![vec![inference(2), inference(4)], vec![inference(1), inference(3)]]);
        assert_eq!(
            done.inferences.iter().map(|inference| inference.micros).collect::<Vec<_>>(),
            [1, 2, 3, 4]
        );
        assert_eq!(done.last_request, Some(0));
    }

    #[test]
    fn a_digest_has_64_digits() {
        let inference = Inference { number: 1, micros: 0, digest: [0x0a; 32] };
        assert_eq!(inference.hexadecimal(), "0a".repeat(32));
    }
}
