//! A reader of pickles, protocol 2, as `torch.save` writes them. It executes nothing.
//!
//! Values lie in one flat table and name each other by their place in it. So sharing and cycles are no special
//! case, nesting costs no stack however deep it is, and no opcode makes more than one value.

use std::collections::HashMap;

use anyhow::{Context as _, Result, bail, ensure};

use crate::view::View;

/// The most values a pickle may have; YOLOv5s has 15 thousand.
const MAX_VALUES: usize = 1 << 20;
/// The largest pickle in bytes; that of YOLOv5s has 83 thousand.
const MAX_BYTES: usize = 1 << 24;

/// A place in the table of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Id(usize);

/// One value.
#[derive(Debug)]
pub(crate) enum Value {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Id>),
    Tuple(Vec<Id>),
    Dict(Vec<(Id, Id)>),
    /// A function or class, as `module.name`.
    Global(String),
    /// What Python would get from calling `callable`, or from creating an instance of it.
    Object {
        callable: Id,
        arguments: Id,
        /// What the object would be told to restore itself from.
        state: Option<Id>,
        /// What would be set on it as on a dictionary.
        entries: Vec<(Id, Id)>,
    },
    /// What lies outside of the pickle, by its identifier: in a checkpoint a storage.
    Persistent(Id),
}

/// A pickle that was read.
#[derive(Debug)]
pub(crate) struct Pickle {
    values: Vec<Value>,
    root: Id,
}

impl Pickle {
    /// Reads the one object of a pickle.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        ensure!(bytes.len() <= MAX_BYTES, "the pickle is larger than {MAX_BYTES} bytes");
        let mut machine = Machine { rest: bytes, ..Machine::default() };
        let root = loop {
            let at = bytes.len() - machine.rest.len();
            if let Some(root) =
                machine.step().with_context(|| format!("failed at byte {at} of the pickle"))?
            {
                break root;
            }
        };
        Ok(Self { values: machine.values, root })
    }

    /// The object the pickle holds.
    pub(crate) fn root(&self) -> View<'_> {
        View::new(self, self.root)
    }

    /// The value at a place in this pickle's table.
    pub(crate) fn value(&self, id: Id) -> &Value {
        &self.values[id.0]
    }
}

/// The stack machine a pickle is a program for.
#[derive(Default)]
struct Machine<'a> {
    rest: &'a [u8],
    values: Vec<Value>,
    stack: Vec<Id>,
    /// The heights of the stack at which a mark lies.
    marks: Vec<usize>,
    memo: HashMap<u32, Id>,
}

impl<'a> Machine<'a> {
    /// Executes one opcode; the object if it was the last.
    fn step(&mut self) -> Result<Option<Id>> {
        let [opcode] = self.array()?;
        match opcode {
            b'\x80' => {
                let [protocol] = self.array()?;
                ensure!(protocol == 2, "protocol {protocol} is not known, only 2");
            }
            b'.' => return self.pop().map(Some),
            b'(' => self.marks.push(self.stack.len()),

            b'N' => self.push(Value::None)?,
            b'\x88' => self.push(Value::Bool(true))?,
            b'\x89' => self.push(Value::Bool(false))?,
            b'K' => {
                let [number] = self.array()?;
                self.push(Value::Int(number.into()))?;
            }
            b'M' => {
                let number = u16::from_le_bytes(self.array()?);
                self.push(Value::Int(number.into()))?;
            }
            b'J' => {
                let number = i32::from_le_bytes(self.array()?);
                self.push(Value::Int(number.into()))?;
            }
            b'\x8a' => {
                let number = self.long()?;
                self.push(Value::Int(number))?;
            }
            b'G' => {
                let number = f64::from_be_bytes(self.array()?);
                self.push(Value::Float(number))?;
            }
            b'X' => {
                let length = u32::from_le_bytes(self.array()?);
                let text = std::str::from_utf8(self.take(length as usize)?).context("a text is not UTF-8")?;
                self.push(Value::Text(text.to_owned()))?;
            }

            b')' => self.push(Value::Tuple(Vec::new()))?,
            b'\x85' => self.tuple(1)?,
            b'\x86' => self.tuple(2)?,
            b'\x87' => self.tuple(3)?,
            b't' => {
                let items = self.pop_to_mark()?;
                self.push(Value::Tuple(items))?;
            }
            b']' => self.push(Value::List(Vec::new()))?,
            b'a' => {
                let item = self.pop()?;
                self.append(vec![item])?;
            }
            b'e' => {
                let items = self.pop_to_mark()?;
                self.append(items)?;
            }
            b'}' => self.push(Value::Dict(Vec::new()))?,
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.set(&[key, value])?;
            }
            b'u' => {
                let items = self.pop_to_mark()?;
                self.set(&items)?;
            }

            b'c' => {
                let (module, name) = (self.line()?, self.line()?);
                self.push(Value::Global(format!("{module}.{name}")))?;
            }
            b'R' | b'\x81' => {
                let (arguments, callable) = (self.pop()?, self.pop()?);
                self.push(Value::Object { callable, arguments, state: None, entries: Vec::new() })?;
            }
            b'b' => {
                let restored = self.pop()?;
                match self.top()? {
                    Value::Object { state, .. } => *state = Some(restored),
                    other => bail!("a state is given to {}", other.kind()),
                }
            }
            b'Q' => {
                let identifier = self.pop()?;
                self.push(Value::Persistent(identifier))?;
            }

            b'q' => {
                let [key] = self.array()?;
                self.memorize(key.into())?;
            }
            b'r' => {
                let key = u32::from_le_bytes(self.array()?);
                self.memorize(key)?;
            }
            b'h' => {
                let [key] = self.array()?;
                self.recall(key.into())?;
            }
            b'j' => {
                let key = u32::from_le_bytes(self.array()?);
                self.recall(key)?;
            }
            other => bail!("opcode 0x{other:02x} is not known"),
        }
        Ok(None)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length).context("the pickle ends too early")?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk().context("the pickle ends too early")?;
        self.rest = rest;
        Ok(*taken)
    }

    fn line(&mut self) -> Result<&'a str> {
        let length = self.rest.iter().position(|byte| *byte == b'\n').context("a name has no end")?;
        let line = self.take(length)?;
        self.take(1)?;
        std::str::from_utf8(line).context("a name is not UTF-8")
    }

    /// A little-endian two's complement of the length its first byte says; none at all is 0.
    fn long(&mut self) -> Result<i64> {
        let [length] = self.array()?;
        let bytes = self.take(length.into())?;
        ensure!(bytes.len() <= 8, "an integer has more than 64 bits");
        let negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
        let mut whole = [if negative { 0xff } else { 0 }; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        Ok(i64::from_le_bytes(whole))
    }

    fn push(&mut self, value: Value) -> Result<()> {
        ensure!(self.values.len() < MAX_VALUES, "the pickle has more than {MAX_VALUES} values");
        self.stack.push(Id(self.values.len()));
        self.values.push(value);
        Ok(())
    }

    fn pop(&mut self) -> Result<Id> {
        let floor = self.marks.last().copied().unwrap_or(0);
        ensure!(self.stack.len() > floor, "the stack is empty");
        self.stack.pop().context("the stack is empty")
    }

    fn pop_to_mark(&mut self) -> Result<Vec<Id>> {
        let mark = self.marks.pop().context("there is no mark on the stack")?;
        Ok(self.stack.split_off(mark))
    }

    fn top(&mut self) -> Result<&mut Value> {
        let top = self.pop()?;
        self.stack.push(top);
        Ok(&mut self.values[top.0])
    }

    fn tuple(&mut self, length: usize) -> Result<()> {
        let mut items = (0..length).map(|_| self.pop()).collect::<Result<Vec<_>>>()?;
        items.reverse();
        self.push(Value::Tuple(items))
    }

    fn append(&mut self, items: Vec<Id>) -> Result<()> {
        match self.top()? {
            Value::List(list) => list.extend(items),
            other => bail!("items are appended to {}", other.kind()),
        }
        Ok(())
    }

    fn set(&mut self, items: &[Id]) -> Result<()> {
        let (pairs, rest) = items.as_chunks();
        ensure!(rest.is_empty(), "a key has no value");
        match self.top()? {
            Value::Dict(entries) | Value::Object { entries, .. } => {
                entries.extend(pairs.iter().map(|[key, value]| (*key, *value)));
            }
            other => bail!("entries are set on {}", other.kind()),
        }
        Ok(())
    }

    fn memorize(&mut self, key: u32) -> Result<()> {
        let top = self.pop()?;
        self.stack.push(top);
        self.memo.insert(key, top);
        Ok(())
    }

    fn recall(&mut self, key: u32) -> Result<()> {
        let id = self.memo.get(&key).with_context(|| format!("nothing is memorized as {key}"))?;
        self.stack.push(*id);
        Ok(())
    }
}

impl Value {
    /// What it is, with its article, for an error.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Bool(_) => "a boolean",
            Self::Int(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Tuple(_) => "a tuple",
            Self::Dict(_) => "a dictionary",
            Self::Global(_) => "a global",
            Self::Object { .. } => "an object",
            Self::Persistent(_) => "a persistent identifier",
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sample::{Py, dict, tuple};

    fn read(program: &[u8]) -> Result<Pickle> {
        Pickle::read(&[b"\x80\x02", program].concat())
    }

    fn error(program: &[u8]) -> String {
        format!("{:#}", read(program).err().unwrap())
    }

    #[test]
    fn plain_values_are_read() {
        let object = dict(vec![
            ("a", tuple(&[1, -2])),
            ("b", Py::List(vec![Py::Float(0.5), Py::None])),
            ("c", Py::Bool(true)),
        ]);
        let pickle = Pickle::read(&object.pickle()).unwrap();
        let root = pickle.root();
        let [one, two] = root.get("a").unwrap().array().unwrap();
        assert_eq!((one.int().unwrap(), two.int().unwrap()), (1, -2));
        let [half, none] = root.get("b").unwrap().array().unwrap();
        assert_eq!((half.float().unwrap(), none.is_none()), (0.5, true));
        assert!(root.get("c").unwrap().bool().unwrap());
        assert!(root.find("d").unwrap().is_none());
    }

    #[test]
    fn integers_of_all_lengths_are_read() {
        let int = |program: &[u8]| read(program).unwrap().root().int().unwrap();
        assert_eq!(int(b"K\xff."), 255);
        assert_eq!(int(b"M\x00\x01."), 256);
        assert_eq!(int(b"J\xff\xff\xff\xff."), -1);
        assert_eq!(int(b"\x8a\x00."), 0);
        assert_eq!(int(b"\x8a\x01\xff."), -1);
        assert_eq!(int(b"\x8a\x05\x00\x00\x00\x00\x01."), 1 << 32);
        assert_eq!(
            error(b"\x8a\x09123456789."),
            "failed at byte 2 of the pickle: an integer has more than 64 bits"
        );
    }

    #[test]
    fn what_is_shared_is_the_same_also_after_it_changed() {
        // A tuple of a list and the same list from the memo; then 7 is appended to the one on the stack.
        let pickle = read(b"(]q\x05h\x05K\x07at.").unwrap();
        let [first, second] = pickle.root().array().unwrap();
        assert_eq!((first.sizes().unwrap(), second.sizes().unwrap()), (vec![7], vec![7]));
    }

    #[test]
    fn a_list_in_itself_is_no_endless_loop() {
        let pickle = read(b"]q\x00h\x00a.").unwrap();
        let [inner] = pickle.root().array().unwrap();
        assert_eq!(inner.items().unwrap().len(), 1);
    }

    #[test]
    fn nesting_of_any_depth_costs_no_stack() {
        let program = [vec![b')'], vec![b'\x85'; 500_000], vec![b'.']].concat();
        let pickle = read(&program).unwrap();
        assert_eq!(pickle.root().items().unwrap().len(), 1);
    }

    #[test]
    fn a_call_is_kept_and_not_made() {
        let pickle = read(b"cos\nsystem\nX\x04\x00\x00\x00true\x85R.").unwrap();
        let (callable, arguments) = pickle.root().call().unwrap();
        let [argument] = arguments.array().unwrap();
        assert_eq!((callable, argument.text().unwrap()), ("os.system", "true"));
    }

    #[test]
    fn an_object_keeps_its_state_and_its_entries() {
        let pickle = read(b"cm\nC\n)\x81}b(K\x01K\x02u.").unwrap();
        assert!(pickle.root().state().unwrap().values().unwrap().is_empty());
        assert_eq!(pickle.root().values().unwrap()[0].int().unwrap(), 2);
    }

    #[test]
    fn of_two_values_of_a_key_the_later_counts() {
        let pickle = Pickle::read(&dict(vec![("a", Py::Int(1)), ("a", Py::Int(2))]).pickle()).unwrap();
        assert_eq!(pickle.root().get("a").unwrap().int().unwrap(), 2);
    }

    #[test]
    fn what_is_malformed_is_an_error() {
        let after = |text: &str| format!("failed at byte 2 of the pickle: {text}");
        assert_eq!(error(b""), after("the pickle ends too early"));
        assert_eq!(error(b"."), after("the stack is empty"));
        assert_eq!(error(b"\x85"), after("the stack is empty"));
        assert_eq!(error(b"t"), after("there is no mark on the stack"));
        assert_eq!(error(b"h\x01"), after("nothing is memorized as 1"));
        assert_eq!(error(b"X\xff\xff\xff\xff"), after("the pickle ends too early"));
        assert_eq!(error(b"cos"), after("a name has no end"));
        assert_eq!(error(b"\x80\x05"), after("protocol 5 is not known, only 2"));
        assert_eq!(error(b"\x95"), after("opcode 0x95 is not known"));
        assert!(error(b"N(\x85").ends_with("the stack is empty"), "a mark is a floor");
        assert!(error(b"}(Nu").ends_with("a key has no value"));
        assert!(error(b"NNa").ends_with("items are appended to none"));
        assert!(error(b"N(NNu").ends_with("entries are set on none"));
        assert!(error(b"NNb").ends_with("a state is given to none"));
    }

    #[test]
    fn too_many_values_are_an_error() {
        assert!(error(&vec![b'N'; MAX_VALUES + 1]).ends_with("more than 1048576 values"));
        assert_eq!(error(&vec![b'N'; MAX_BYTES]), "the pickle is larger than 16777216 bytes");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Pickle::read(&bytes);
            let _ = read(&bytes);
        }

        #[test]
        fn no_opcodes_make_it_panic(
            program in proptest::collection::vec(prop::sample::select(b"(.NK\x88)\x85\x86t]ae}suR\x81bQqh\x01".to_vec()), 0..60)
        ) {
            let _ = read(&program);
        }
    }
}
