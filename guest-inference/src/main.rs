//! The program of a guest whose memory is watched: it runs a model through the ONNX Runtime and OpenVINO as its
//! [`Order`] says, marks its phases, and prints its [`Answer`].
//!
//! It does not allocate in any way of its own: where memory lies is what is measured.

mod assigned;
mod buffer;
mod complaints;
mod mark;
mod modelled;
mod order;
mod request;
mod rounds;
mod runtime;

use std::{
    fs,
    io::{self, Write},
    process::ExitCode,
};

use anyhow::{Context, Result};
use mthp_detect::{Letterbox, decode, open_image};
use mthp_record::workload::{Answer, Order, Phase};

use crate::{
    buffer::Buffer,
    mark::mark,
    rounds::Inference,
    runtime::{Load, Runtime},
};

fn main() -> ExitCode {
    let answered =
        order::from_arguments(std::env::args().skip(1)).and_then(|order| answer(&order)).and_then(print);
    match answered {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A library's message may have several lines.
            let line = format!("{error:#}").split_whitespace().collect::<Vec<_>>().join(" ");
            // Nobody is left to tell when standard error is closed.
            let _ = writeln!(io::stderr(), "guest-inference: {line}");
            ExitCode::FAILURE
        }
    }
}

/// Does what is ordered.
fn answer(order: &Order) -> Result<Answer> {
    let [_, _, height, width] = order.shape;
    let image = fs::read(&order.image).with_context(|| format!("failed to read {}", order.image))?;
    let image = open_image(&image).with_context(|| format!("failed to decode {}", order.image))?;
    let fit = Letterbox::new([image.width(), image.height()], [width, height])?;
    let mut buffers = Vec::new();
    for _ in 0..order.in_flight {
        let mut buffer = Buffer::new(&order.tensors, order::numbers(order.shape)?)?;
        fit.fill(&image, buffer.numbers_mut())?;
        buffers.push(buffer);
    }
    drop(image);
    let runtime = Runtime::open(&order.runtime)?;
    mark(Phase::Ready, 0);

    let mut load_micros = Vec::new();
    let mut last = None;
    for number in 1..=order.loads {
        // Two sessions never exist at a time.
        drop(last.take());
        let load = runtime.load(order)?;
        load_micros.push(load.micros);
        mark(Phase::Loaded, number);
        last = Some(load);
    }
    let Load { session, assigned, .. } = last.context("failed to load a model: no load is ordered")?;

    let mut requests = request::all(&session, &buffers, order.shape)?;
    let done = rounds::run(&mut requests, order.inferences, order.region.as_deref())?;
    mark(Phase::Done, 0);

    let last = done
        .last_request
        .and_then(|index| requests.get(index))
        .context("failed to find the last inference")?;
    let (shape, numbers) = last.output(0)?;
    Ok(Answer {
        runtime_version: runtime.version().to_owned(),
        assigned,
        load_micros,
        inference_micros: done.inferences.iter().map(|inference| inference.micros).collect(),
        modelled: done.modelled,
        not_finite: last.not_finite()?,
        outputs: done.inferences.iter().map(Inference::hexadecimal).collect(),
        detections: decode(numbers, shape, &fit, order.decode)?,
    })
}

fn print(answer: Answer) -> Result<()> {
    let mut line = serde_json::to_vec(&answer).context("failed to write the answer")?;
    line.push(b'\n');
    io::stdout().write_all(&line).context("failed to write the answer to standard output")
}
