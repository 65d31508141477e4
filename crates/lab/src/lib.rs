//! The experiment: which two kernels, which boots, in which order, into which folder.

pub mod schedule;
