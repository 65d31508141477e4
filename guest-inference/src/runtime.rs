//! The ONNX Runtime, and a model in it.

use std::{
    ffi::CStr,
    thread::available_parallelism,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use libloading::{Library, Symbol};
use mthp_record::workload::{Assigned, Order, PROVIDER};
use ort::{
    environment::Environment,
    ep::OpenVINO,
    logging::LogLevel,
    session::{Session, builder::SessionBuilder},
    sys::OrtApiBase,
};

use crate::{
    assigned::{assigned, check},
    complaints::Complaints,
};

/// The loaded library.
pub struct Runtime {
    environment: Environment,
    version: String,
    complaints: Complaints,
}

/// A session, ready to run.
pub struct Load {
    /// It.
    pub session: Session,
    /// Who executes its nodes.
    pub assigned: Vec<Assigned>,
    /// How long its creation took, in microseconds.
    pub micros: u64,
}

impl Runtime {
    /// Loads the runtime's library.
    ///
    /// # Errors
    /// When the file is no library of it, or too old.
    pub fn open(path: &str) -> Result<Self> {
        let context = || format!("failed to load the runtime {path}");
        let version = version(path).with_context(context)?;
        let complaints = Complaints::default();
        let environment = ort::init_from(path)
            .with_context(context)?
            .with_telemetry(false)
            .with_logger(complaints.logger())
            .build()
            .with_context(context)?;
        environment.set_log_level(LogLevel::Error);
        Ok(Self { environment, version, complaints })
    }

    /// The library's own version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Creates a session of the model that is ordered, executed by OpenVINO alone.
    ///
    /// # Errors
    /// When the model or the provider is missing or broken, or another provider would execute a node.
    pub fn load(&self, order: &Order) -> Result<Load> {
        let context = || format!("failed to load {} with {PROVIDER}", order.model);
        // With one thread, OpenVINO works in the thread that asks for an inference.
        let threads = match order.region {
            Some(_) => 1,
            None => available_parallelism().context("failed to count the CPUs")?.get(),
        };
        let streams = u8::try_from(order.in_flight).context("failed to make a stream for each request")?;
        let start = Instant::now();
        let session = self
            .options(order, threads, streams)
            .and_then(|mut options| options.commit_from_file(&order.model))
            .map_err(|error| self.complaints.explain(error))
            .with_context(context)?;
        let micros = micros(start.elapsed());
        let assigned = assigned(&session).with_context(context)?;
        check(&assigned).with_context(context)?;
        Ok(Load { session, assigned, micros })
    }

    fn options(&self, order: &Order, threads: usize, streams: u8) -> ort::Result<SessionBuilder> {
        let provider = OpenVINO::default()
            .with_device_type("CPU")
            .with_num_threads(threads)
            .with_num_streams(streams)
            .build()
            .error_on_failure();
        let mut options = Session::builder(&self.environment)?
            .with_config_entry("session.record_ep_graph_assignment_info", "1")?
            .with_disable_cpu_fallback()?;
        for (name, size) in order.dimensions.iter().zip(order.shape).filter(|(name, _)| !name.is_empty()) {
            options = options.with_dimension_override(name, size.into())?;
        }
        Ok(options.with_execution_providers([provider])?)
    }
}

/// A duration in whole microseconds.
pub fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// Asks the library for its version, which `ort` does not tell.
fn version(path: &str) -> Result<String> {
    type GetApiBase = unsafe extern "C" fn() -> *const OrtApiBase;
    // SAFETY: what runs when the library is loaded is the ordered runtime's own code, which needs nothing of ours.
    let library = unsafe { Library::new(path) }?;
    // SAFETY: this is the type of the function in the runtime's C API.
    let get: Symbol<'_, GetApiBase> = unsafe { library.get("OrtGetApiBase") }?;
    // SAFETY: it has no precondition; its answer is null or lives as long as the library.
    let base = unsafe { get().as_ref() }.context("it has no API")?;
    // SAFETY: it has no precondition.
    let version = unsafe { (base.GetVersionString)() };
    ensure!(!version.is_null(), "it has no version");
    // SAFETY: the C API promises a string that ends with zero and lives as long as the library, which is still open.
    Ok(unsafe { CStr::from_ptr(version) }.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_that_is_none_is_an_error_with_its_name() {
        for path in ["/nowhere/libonnxruntime.so", "libc.so.6"] {
            let error = format!("{:#}", Runtime::open(path).err().unwrap());
            assert!(error.starts_with("failed to load the runtime") && error.contains(path), "{error}");
        }
    }
}
