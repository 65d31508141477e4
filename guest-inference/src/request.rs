//! One request in flight: its input, its outputs, and its runs.

use std::{
    ffi::{CString, c_char},
    ptr::{self, NonNull},
    slice,
};

use anyhow::{Context, Result, bail, ensure};
use ort::{
    AsPointer,
    session::Session,
    sys::OrtValue,
    value::{DynValue, TensorRef},
};
use sha2::{Digest, Sha256};

use crate::buffer::Buffer;

/// A request to a session that other requests use at the same time.
pub struct Request<'a> {
    session: &'a Session,
    input_name: CString,
    output_names: Vec<CString>,
    input: TensorRef<'a, f32>,
    /// Made by the first run and written again by every other.
    outputs: Vec<DynValue>,
}

/// A request for each buffer, which holds an input of this shape.
///
/// # Errors
/// When the model has another number of inputs than one or no output, or the shape is not the buffer's.
pub fn all<'a>(session: &'a Session, buffers: &'a [Buffer], shape: [u32; 4]) -> Result<Vec<Request<'a>>> {
    buffers
        .iter()
        .map(|buffer| Request::new(session, buffer, shape).context("failed to prepare a request"))
        .collect()
}

impl<'a> Request<'a> {
    fn new(session: &'a Session, buffer: &'a Buffer, shape: [u32; 4]) -> Result<Self> {
        let [input] = session.inputs() else { bail!("the model has {} inputs", session.inputs().len()) };
        ensure!(!session.outputs().is_empty(), "the model has no output");
        Ok(Self {
            session,
            input_name: CString::new(input.name())?,
            output_names: session
                .outputs()
                .iter()
                .map(|output| CString::new(output.name()))
                .collect::<Result<_, _>>()?,
            input: TensorRef::from_array_view((shape.map(i64::from), buffer.numbers()))?,
            outputs: Vec::new(),
        })
    }

    /// Prepares a run: what needs memory of this program is done here, outside of what is timed.
    pub fn prepared(&mut self) -> Run<'_, 'a> {
        let output_names = self.output_names.iter().map(|name| name.as_ptr()).collect();
        Run { output_names, outputs: vec![ptr::null_mut(); self.output_names.len()], request: self }
    }

    /// How many numbers of the last run's outputs are infinite or none at all.
    ///
    /// # Errors
    /// As [`Request::output`].
    pub fn not_finite(&self) -> Result<u64> {
        let mut count = 0;
        for index in 0..self.output_names.len() {
            let (_, numbers) = self.output(index)?;
            count += u64::try_from(numbers.iter().filter(|number| !number.is_finite()).count())?;
        }
        Ok(count)
    }

    /// Shape and numbers of an output of the last run.
    ///
    /// # Errors
    /// When there was no run, the model has no such output, or it does not consist of 32-bit floating-point numbers.
    pub fn output(&self, index: usize) -> Result<(&[i64], &[f32])> {
        let value = self.outputs.get(index).with_context(|| format!("failed to find output {index}"))?;
        let (shape, numbers) = value
            .try_extract_tensor::<f32>()
            .with_context(|| format!("failed to read output {index} as 32-bit floating-point numbers"))?;
        Ok((shape, numbers))
    }
}

/// A request that runs.
pub struct Run<'r, 'a> {
    request: &'r mut Request<'a>,
    output_names: Vec<*const c_char>,
    /// The outputs of `request`; null before the first run.
    outputs: Vec<*mut OrtValue>,
}

impl Run<'_, '_> {
    /// One inference. The first one makes the outputs, any other writes into them.
    ///
    /// # Errors
    /// The runtime's.
    pub fn once(&mut self) -> Result<()> {
        let session = self.request.session.ptr().cast_mut();
        let input_name = self.request.input_name.as_ptr();
        let input: *const OrtValue = self.request.input.ptr();
        // SAFETY: all pointers are those of values that `self` owns or borrows, the arrays have the lengths given, and
        // nobody else uses these outputs. The runtime promises that many threads may call `Run` on one session
        // (`InferenceSession::Run`: "Multiple threads are allowed to run this function; hence its thread-safe").
        let status = unsafe {
            (ort::api().Run)(
                session,
                ptr::null(),
                &input_name,
                &input,
                1,
                self.output_names.as_ptr(),
                self.output_names.len(),
                self.outputs.as_mut_ptr(),
            )
        };
        // SAFETY: the status is fresh and given away.
        unsafe { ort::Error::result_from_status(status) }.context("failed to run an inference")
    }

    /// The SHA-256 of all outputs' bytes, in the model's order.
    ///
    /// # Errors
    /// When there was no run, or an output does not consist of 32-bit floating-point numbers.
    pub fn digest(&mut self) -> Result<[u8; 32]> {
        self.own_outputs()?;
        let mut digest = Sha256::new();
        for index in 0..self.output_names.len() {
            digest.update(bytes(self.request.output(index)?.1));
        }
        Ok(digest.finalize().into())
    }

    /// Takes what the first run made.
    fn own_outputs(&mut self) -> Result<()> {
        if !self.request.outputs.is_empty() {
            return Ok(());
        }
        let made: Option<Vec<_>> = self.outputs.iter().map(|output| NonNull::new(*output)).collect();
        let allocator = self.request.session.allocator();
        for output in made.context("failed to find an output: none was made")? {
            // SAFETY: the runtime has made this value for us; it is taken once and dropped before the session.
            self.request.outputs.push(unsafe { DynValue::from_ptr(output, Some(allocator)) });
        }
        Ok(())
    }
}

/// Numbers as they lie in memory, little endian.
fn bytes(numbers: &[f32]) -> &[u8] {
    const { assert!(cfg!(target_endian = "little")) };
    // SAFETY: the same memory for the same time; every byte is a `u8`, which needs no alignment.
    unsafe { slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_little_endian() {
        assert_eq!(bytes(&[1.0, -2.0]), [0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0]);
        assert_eq!(bytes(&[]), [0u8; 0]);
    }
}
