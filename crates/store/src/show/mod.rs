//! What is stored, as tables and plots.
