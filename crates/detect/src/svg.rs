//! The image with what was found in it.

use std::fmt::Write;

use base64::{Engine, engine::general_purpose::STANDARD};
use mthp_record::workload::Detection;

use crate::{class_name, difference::thousandths, image::PNG};

/// The height of the title's line, for an image of which the shorter side is 32 times as long.
const LINES: u32 = 32;

/// An SVG of the JPEG or PNG file `image`, which is `width` times `height` pixels, under a title, with a box and a
/// label for each detection.
///
/// Boxes are light lines on dark ones, and each has its class and confidence in words: no colour carries a meaning.
#[must_use]
pub fn svg(image: &[u8], width: u32, height: u32, detections: &[Detection], title: &str) -> String {
    let kind = if image.starts_with(&PNG) { "png" } else { "jpeg" };
    let line = (width.min(height) / LINES).max(8);
    let title = escaped(title);
    let mut svg = format!(
        concat!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {total}\" width=\"{width}\" ",
            "height=\"{total}\" font-family=\"sans-serif\" font-size=\"{font}\">\n",
            "<title>{title}</title>\n",
            "<rect width=\"{width}\" height=\"{total}\" fill=\"#111\"/>\n",
            "<text x=\"{pad}\" y=\"{base}\" fill=\"#fff\">{title}</text>\n",
            "<g transform=\"translate(0 {head})\">\n",
            "<image width=\"{width}\" height=\"{height}\" href=\"data:image/{kind};base64,{data}\"/>\n",
        ),
        width = width,
        height = height,
        total = u64::from(height) + u64::from(line) * 2,
        font = line,
        title = title,
        pad = line / 2,
        base = line * 3 / 2,
        head = line * 2,
        kind = kind,
        data = STANDARD.encode(image),
    );
    for detection in detections {
        draw_box(&mut svg, detection, line);
    }
    // After all boxes, so that no line crosses a text.
    let mut placed = Vec::new();
    for detection in detections {
        placed.push(draw_label(&mut svg, detection, line, width, &placed));
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

fn draw_box(svg: &mut String, detection: &Detection, line: u32) {
    let [left, top, right, bottom] = detection.bounds;
    let shape = format!(
        "<rect x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{}\" fill=\"none\"",
        right.saturating_sub(left),
        bottom.saturating_sub(top)
    );
    let light = (line / 8).max(1);
    let dark = light * 3;
    for (colour, stroke) in [("#111", dark), ("#fff", light)] {
        // Writing to a string cannot fail.
        let _ = writeln!(svg, "{shape} stroke=\"{colour}\" stroke-width=\"{stroke}\"/>");
    }
}

/// Where a label lies; its size is the same in all but the width.
struct Label {
    left: u64,
    top: u64,
    width: u64,
}

/// Draws a label at the upper left corner of its box: within the image's width, and below those that are there.
fn draw_label(svg: &mut String, detection: &Detection, line: u32, width: u32, placed: &[Label]) -> Label {
    let text = format!("{} {}", class_name(detection.class), thousandths(detection.confidence_thousandths));
    let line = u64::from(line);
    let height = line * 5 / 4;
    // About as wide as the text: no font is measured here.
    let label_width = text.chars().count() as u64 * line * 2 / 3;
    let [left, top, ..] = detection.bounds.map(u64::from);
    let mut label =
        Label { left: left.min(u64::from(width).saturating_sub(label_width)), top, width: label_width };
    let hides = |label: &Label, other: &Label| {
        label.left < other.left + other.width
            && other.left < label.left + label.width
            && label.top.abs_diff(other.top) < height
    };
    while let Some(other) = placed.iter().find(|other| hides(&label, other)) {
        label.top = other.top + height;
    }
    let _ = writeln!(
        svg,
        "<rect x=\"{}\" y=\"{}\" width=\"{label_width}\" height=\"{height}\" fill=\"#111\"/>\
         <text x=\"{}\" y=\"{}\" fill=\"#fff\">{}</text>",
        label.left,
        label.top,
        label.left + line / 4,
        label.top + line,
        escaped(&text)
    );
    label
}

/// Text that is safe in an element and in an attribute; characters that XML cannot hold become U+FFFD.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&apos;"),
            '\t' | '\n' | '\r' => safe.push(' '),
            '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => safe.push(char::REPLACEMENT_CHARACTER),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detection(class: u32, bounds: [u32; 4]) -> Detection {
        Detection { class, confidence_thousandths: 729, bounds }
    }

    #[test]
    fn each_detection_has_a_box_and_a_label() {
        let svg =
            svg(&PNG, 320, 320, &[detection(5, [10, 20, 110, 220]), detection(81, [0, 0, 1, 1])], "base");
        assert!(
            svg.contains(
                "<rect x=\"10\" y=\"20\" width=\"100\" height=\"200\" fill=\"none\" stroke=\"#111\""
            )
        );
        assert!(svg.contains(">bus 0.729</text>"));
        assert!(svg.contains(">class 81 0.729</text>"));
        assert!(svg.contains("href=\"data:image/png;base64,iVBORw0KGgo=\""));
    }

    #[test]
    fn a_title_cannot_break_out() {
        let svg = svg(b"", 0, 0, &[], "</title><script>\"'&\u{1}");
        assert!(svg.contains("<title>&lt;/title&gt;&lt;script&gt;&quot;&apos;&amp;\u{fffd}</title>"));
    }

    #[test]
    fn labels_hide_no_other_and_stay_within_the_width() {
        let same = detection(5, [310, 0, 320, 10]);
        let svg = svg(&PNG, 320, 320, &[same.clone(), same.clone(), same], "");
        // "bus 0.729" at a height of 10.
        for top in [0, 12, 24] {
            assert!(
                svg.contains(&format!("<rect x=\"260\" y=\"{top}\" width=\"60\" height=\"12\"")),
                "{svg}"
            );
        }
    }

    #[test]
    fn odd_boxes_do_no_harm() {
        let _ = svg(b"", u32::MAX, u32::MAX, &[detection(u32::MAX, [u32::MAX, 5, 0, 1])], "");
    }
}
