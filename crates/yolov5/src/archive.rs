//! The archive that `torch.save` writes: a zip of one pickle and one file a storage.

use std::collections::BTreeMap;
use std::io::{Cursor, Read as _};

use anyhow::{Context as _, Result, ensure};
use zip::ZipArchive;

/// The raw bytes of the tensors, by the key the pickle names them with.
pub(crate) type Storages = BTreeMap<String, Vec<u8>>;

/// A checkpoint's content.
pub(crate) struct Archive {
    /// The pickle of the object that was saved.
    pub(crate) pickle: Vec<u8>,
    /// The storages, little-endian.
    pub(crate) storages: Storages,
}

impl Archive {
    /// Reads all entries and checks their CRC.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        let mut zip = ZipArchive::new(Cursor::new(bytes)).context("failed to read the zip directory")?;
        let mut entries = BTreeMap::new();
        // Nothing is compressed, so entries that add up to more than the archive overlap.
        let mut left = bytes.len();
        for index in 0..zip.len() {
            let entry = zip.by_index(index).with_context(|| format!("failed to open entry {index}"))?;
            let name = entry
                .name()
                .with_context(|| format!("failed to read the name of entry {index}"))?
                .into_owned();
            let mut content = Vec::new();
            entry
                .take((left as u64).saturating_add(1))
                .read_to_end(&mut content)
                .with_context(|| format!("failed to read `{name}`"))?;
            left = left.checked_sub(content.len()).context("the entries are larger than the archive")?;
            entries.insert(name, content);
        }
        Self::sort(entries)
    }

    fn sort(mut entries: BTreeMap<String, Vec<u8>>) -> Result<Self> {
        let folder = entries
            .keys()
            .find_map(|name| name.strip_suffix("/data.pkl"))
            .context("there is no data.pkl in it; is it a checkpoint of PyTorch 1.6 or newer?")?
            .to_owned();
        if let Some(order) = entries.get(&format!("{folder}/byteorder")) {
            ensure!(order == b"little", "its numbers are not little-endian");
        }
        let pickle = entries.remove(&format!("{folder}/data.pkl")).unwrap_or_default();
        let data = format!("{folder}/data/");
        let storages = entries
            .into_iter()
            .filter_map(|(name, content)| Some((name.strip_prefix(&data)?.to_owned(), content)))
            .collect();
        Ok(Self { pickle, storages })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sample::archive;

    #[test]
    fn the_pickle_and_the_storages_are_told_apart() {
        let files: [(&str, &[u8]); 4] =
            [("data.pkl", b"pickle"), ("data/0", b"zero"), ("byteorder", b"little"), ("version", b"3\n")];
        let archive = Archive::read(&archive(&files)).unwrap();
        assert_eq!(archive.pickle, b"pickle");
        assert_eq!(archive.storages, Storages::from([("0".to_owned(), b"zero".to_vec())]));
    }

    #[test]
    fn what_is_no_checkpoint_is_an_error() {
        let error = |bytes: &[u8]| format!("{:#}", Archive::read(bytes).err().unwrap());
        assert!(error(b"\x80\x02}.").starts_with("failed to read the zip directory"));
        assert!(error(&archive(&[("version", b"3\n")])).starts_with("there is no data.pkl"));
        let big = archive(&[("data.pkl", b""), ("byteorder", b"big")]);
        assert_eq!(error(&big), "its numbers are not little-endian");
    }

    #[test]
    fn a_damaged_entry_is_an_error() {
        let mut bytes = archive(&[("data.pkl", b"pickle"), ("data/0", b"zero")]);
        let at = bytes.windows(4).position(|window| window == b"zero").unwrap();
        bytes[at] ^= 1;
        assert!(
            format!("{:#}", Archive::read(&bytes).err().unwrap())
                .starts_with("failed to read `archive/data/0`")
        );
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Archive::read(&bytes);
        }

        #[test]
        fn no_damage_makes_it_panic(at in any::<prop::sample::Index>(), byte: u8, cut in any::<prop::sample::Index>()) {
            let mut bytes = archive(&[("data.pkl", b"pickle"), ("data/0", b"zero")]);
            let place = at.index(bytes.len());
            bytes[place] = byte;
            let _ = Archive::read(&bytes);
            let _ = Archive::read(&bytes[..cut.index(bytes.len())]);
        }
    }
}
