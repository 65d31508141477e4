//! What YOLOv5 does around its network: an image becomes a tensor ([`Letterbox`]), a tensor becomes detections
//! ([`decode()`]), and detections are compared ([`differences`]) and drawn ([`svg()`]).
//!
//! Nothing here opens a file or starts a process.

mod classes;
mod decode;
mod difference;
mod image;
mod letterbox;
mod svg;

pub use classes::class_name;
pub use decode::decode;
pub use difference::differences;
pub use image::{MAX_PIXELS, Rgb, open_image};
pub use letterbox::Letterbox;
pub use svg::svg;
