//! What classes are called.

use std::borrow::Cow;

/// The 80 classes of COCO in the order of YOLOv5's `data/coco.yaml`.
const COCO: [&str; 80] = [
    "person",
    "bicycle",
    "car",
    "motorcycle",
    "airplane",
    "bus",
    "train",
    "truck",
    "boat",
    "traffic light",
    "fire hydrant",
    "stop sign",
    "parking meter",
    "bench",
    "bird",
    "cat",
    "dog",
    "horse",
    "sheep",
    "cow",
    "elephant",
    "bear",
    "zebra",
    "giraffe",
    "backpack",
    "umbrella",
    "handbag",
    "tie",
    "suitcase",
    "frisbee",
    "skis",
    "snowboard",
    "sports ball",
    "kite",
    "baseball bat",
    "baseball glove",
    "skateboard",
    "surfboard",
    "tennis racket",
    "bottle",
    "wine glass",
    "cup",
    "fork",
    "knife",
    "spoon",
    "bowl",
    "banana",
    "apple",
    "sandwich",
    "orange",
    "broccoli",
    "carrot",
    "hot dog",
    "pizza",
    "donut",
    "cake",
    "chair",
    "couch",
    "potted plant",
    "bed",
    "dining table",
    "toilet",
    "tv",
    "laptop",
    "mouse",
    "remote",
    "keyboard",
    "cell phone",
    "microwave",
    "oven",
    "toaster",
    "sink",
    "refrigerator",
    "book",
    "clock",
    "vase",
    "scissors",
    "teddy bear",
    "hair drier",
    "toothbrush",
];

/// The class's name in COCO, or its number where COCO has none: `bus`, `class 81`.
#[must_use]
pub fn class_name(class: u32) -> Cow<'static, str> {
    let known = usize::try_from(class).ok().and_then(|index| COCO.get(index));
    known.map_or_else(|| Cow::Owned(format!("class {class}")), |name| Cow::Borrowed(*name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_has_its_name_or_its_number() {
        let names =
            [(0, "person"), (5, "bus"), (79, "toothbrush"), (80, "class 80"), (u32::MAX, "class 4294967295")];
        for (class, name) in names {
            assert_eq!(class_name(class), name);
        }
    }
}
