//! What `lackey --trace-mem=yes` writes.

/// One access.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub kind: Kind,
    pub address: u64,
    pub size: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Instruction,
    Data,
}

impl Event {
    /// How many lines it reaches into.
    pub const fn lines(&self) -> u64 {
        (self.address + self.size as u64 - 1) / 64 - self.address / 64 + 1
    }

    /// `I  004010e1,7`, ` L 00800000,8`, ` S …`, ` M …` (read and written); `None` for the tool's own lines.
    pub fn parse(line: &str) -> Option<Self> {
        let (kind, rest) = match line.split_at_checked(3)? {
            ("I  ", rest) => (Kind::Instruction, rest),
            (" L " | " S " | " M ", rest) => (Kind::Data, rest),
            _ => return None,
        };
        let (address, size) = rest.split_once(',')?;
        Some(Self { kind, address: u64::from_str_radix(address, 16).ok()?, size: size.parse().ok()? })
    }
}
