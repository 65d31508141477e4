//! The frames on the result port: `"MTHP" length:u32le crc32:u32le payload`, the checksum over the payload.
//!
//! The host reads them from a guest that may lie, so a decoder never allocates more than
//! [`MAX_PAYLOAD`] and stops for good at the first thing that is not a frame.

use std::io::{self, Write};

/// The first four bytes of a frame.
pub const MAGIC: [u8; 4] = *b"MTHP";
/// The largest payload in bytes: a test's evidence is a few KiB, a snapshot some tens of KiB.
pub const MAX_PAYLOAD: usize = 1 << 20;
const HEADER: usize = 12;

/// Why a stream is not one of frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// The bytes where a frame should begin are something else.
    Magic([u8; 4]),
    /// The frame announces more than [`MAX_PAYLOAD`] bytes.
    TooLarge(u32),
    /// The payload does not match its checksum.
    Checksum {
        /// As announced.
        announced: u32,
        /// As computed.
        computed: u32,
    },
}

impl std::fmt::Display for FrameError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Magic(bytes) => write!(f, "no frame begins with {:02x?}", bytes),
            Self::TooLarge(length) => {
                write!(f, "a frame announces {length} bytes, more than the {MAX_PAYLOAD} allowed")
            }
            Self::Checksum { announced, computed } => {
                write!(f, "a frame's checksum is {computed:08x}, not the {announced:08x} it announces")
            }
        }
    }
}

impl std::error::Error for FrameError {}

/// Writes one frame.
///
/// # Errors
/// When the payload is larger than [`MAX_PAYLOAD`] or the writer fails.
pub fn write(mut to: impl Write, payload: &[u8]) -> io::Result<()> {
    let length = u32::try_from(payload.len())
        .ok()
        .filter(|_| payload.len() <= MAX_PAYLOAD)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the payload is too large for a frame"))?;
    let mut frame = Vec::with_capacity(HEADER + payload.len());
    frame.extend_from_slice(&MAGIC);
    frame.extend_from_slice(&length.to_le_bytes());
    frame.extend_from_slice(&crc32fast::hash(payload).to_le_bytes());
    frame.extend_from_slice(payload);
    to.write_all(&frame)
}

/// Takes bytes as they come and gives back whole payloads.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
}

impl Decoder {
    /// Adds bytes that came from the guest.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole payload, or `None` until more bytes have come.
    ///
    /// # Errors
    /// When the stream is not one of frames; nothing after that can be trusted.
    pub fn next_payload(&mut self) -> Result<Option<Vec<u8>>, FrameError> {
        let Some(header) = self.buffer.first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let [m0, m1, m2, m3, l0, l1, l2, l3, c0, c1, c2, c3] = *header;
        let magic = [m0, m1, m2, m3];
        if magic != MAGIC {
            return Err(FrameError::Magic(magic));
        }
        let length = u32::from_le_bytes([l0, l1, l2, l3]);
        let announced = u32::from_le_bytes([c0, c1, c2, c3]);
        let size = usize::try_from(length).unwrap_or(usize::MAX);
        if size > MAX_PAYLOAD {
            return Err(FrameError::TooLarge(length));
        }
        let Some(payload) = self.buffer.get(HEADER..HEADER + size) else {
            return Ok(None);
        };
        let computed = crc32fast::hash(payload);
        if computed != announced {
            return Err(FrameError::Checksum { announced, computed });
        }
        let payload = payload.to_vec();
        self.buffer.drain(..HEADER + size);
        Ok(Some(payload))
    }

    /// Bytes that wait for the rest of their frame.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.buffer.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn framed(payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&mut bytes, payload).unwrap();
        bytes
    }

    proptest! {
        #[test]
        fn frames_survive_any_cut(payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..5), cut in 1_usize..40) {
            let stream: Vec<u8> = payloads.iter().flat_map(|p| framed(p)).collect();
            let mut decoder = Decoder::default();
            let mut seen = Vec::new();
            for chunk in stream.chunks(cut) {
                decoder.push(chunk);
                while let Some(payload) = decoder.next_payload().unwrap() {
                    seen.push(payload);
                }
            }
            prop_assert_eq!(seen, payloads);
            prop_assert_eq!(decoder.pending(), 0);
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let mut decoder = Decoder::default();
            decoder.push(&bytes);
            while let Ok(Some(_)) = decoder.next_payload() {}
        }
    }

    #[test]
    fn a_flipped_bit_is_noticed() {
        let mut bytes = framed(b"results");
        bytes[13] ^= 1;
        let mut decoder = Decoder::default();
        decoder.push(&bytes);
        assert!(matches!(decoder.next_payload(), Err(FrameError::Checksum { .. })));
    }

    #[test]
    fn a_huge_frame_is_refused_before_its_bytes_come() {
        let mut decoder = Decoder::default();
        decoder.push(b"MTHP\xff\xff\xff\x7f\0\0\0\0");
        assert_eq!(decoder.next_payload(), Err(FrameError::TooLarge(0x7fff_ffff)));
    }
}
