//! What is stored, as tables and plots. Strings (and pictures) out; nothing here reads the store.

pub mod change;
pub mod json;
pub mod near;
pub mod plot;
mod runs;
mod table;
mod track;

pub use runs::runs;
pub use track::track;

/// For whom a table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// A person at a terminal.
    Terminal {
        /// Columns; made for 80 to 110.
        width: u16,
        /// Use colour. Nothing is said by colour alone.
        color: bool,
    },
    /// A job summary or a bug tracker.
    Markdown,
}
