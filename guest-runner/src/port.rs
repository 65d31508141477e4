//! The virtio-serial port that carries the results.

use std::{fs, fs::File, path::PathBuf, time::Duration};

use anyhow::{Context, Result};
use mthp_record::{frame, job::PORT_NAME, message::Message};

use crate::init::wait_for;

const CLASS: &str = "/sys/class/virtio-ports";
/// The port appears while the kernel probes its devices, at the latest some moments after init's start.
const APPEARS_WITHIN: Duration = Duration::from_secs(20);

/// The open port.
#[derive(Debug)]
pub struct Port(File);

impl Port {
    /// Waits for the port of that name and opens it.
    ///
    /// # Errors
    /// When it does not appear in time.
    pub fn open() -> Result<Self> {
        wait_for(APPEARS_WITHIN, || {
            let device = find()?;
            fs::OpenOptions::new().write(true).open(device).ok().map(Self)
        })
        .with_context(|| format!("no virtio-serial port is named {PORT_NAME:?} (see {CLASS})"))
    }

    /// Sends one message. A write returns once the host has taken the bytes, so there is nothing to drain.
    ///
    /// # Errors
    /// When the message is too large or the port fails.
    pub fn send(&self, message: &Message) -> Result<()> {
        let payload = serde_json::to_vec(message).context("failed to encode a message")?;
        frame::write(&self.0, &payload).context("failed to send a message")
    }

    /// Sends bytes as they are.
    ///
    /// # Errors
    /// When the port fails.
    pub fn send_raw(&self, bytes: &[u8]) -> Result<()> {
        std::io::Write::write_all(&mut &self.0, bytes).context("failed to send bytes")
    }
}

fn find() -> Option<PathBuf> {
    fs::read_dir(CLASS).ok()?.flatten().find_map(|entry| {
        let name = fs::read_to_string(entry.path().join("name")).ok()?;
        (name.trim() == PORT_NAME).then(|| PathBuf::from("/dev").join(entry.file_name()))
    })
}
