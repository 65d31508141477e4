//! Hand-made checkpoints: a writer of the pickles and archives that the rest of this crate reads.

use std::io::{Cursor, Write as _};

use zip::ZipWriter;
use zip::{CompressionMethod, write::SimpleFileOptions};

/// An object as Python has it.
#[derive(Clone, Debug)]
pub(crate) enum Py {
    None,
    Bool(bool),
    Int(i32),
    Float(f64),
    Text(&'static str),
    List(Vec<Py>),
    Tuple(Vec<Py>),
    Dict(Vec<(String, Py)>),
    Global(&'static str, &'static str),
    /// The result of a call.
    Call(Box<Py>, Vec<Py>),
    /// An instance of a class, restored from a state.
    Instance(Box<Py>, Box<Py>),
    Persistent(Vec<Py>),
}

impl Py {
    /// Its pickle.
    pub(crate) fn pickle(&self) -> Vec<u8> {
        let mut out = b"\x80\x02".to_vec();
        self.write(&mut out);
        out.push(b'.');
        out
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::None => out.push(b'N'),
            Self::Bool(is) => out.push(if *is { b'\x88' } else { b'\x89' }),
            Self::Int(number) => {
                out.push(b'J');
                out.extend(number.to_le_bytes());
            }
            Self::Float(number) => {
                out.push(b'G');
                out.extend(number.to_be_bytes());
            }
            Self::Text(text) => write_text(text, out),
            Self::List(items) => {
                out.push(b']');
                write_marked(items, b'e', out);
            }
            Self::Tuple(items) => write_marked(items, b't', out),
            Self::Dict(entries) => {
                out.extend(b"}(");
                for (key, value) in entries {
                    write_text(key, out);
                    value.write(out);
                }
                out.push(b'u');
            }
            Self::Global(module, name) => out.extend(format!("c{module}\n{name}\n").bytes()),
            Self::Call(callable, arguments) => {
                callable.write(out);
                write_marked(arguments, b't', out);
                out.push(b'R');
            }
            Self::Instance(class, state) => {
                class.write(out);
                out.extend(b")\x81");
                state.write(out);
                out.push(b'b');
            }
            Self::Persistent(identifier) => {
                write_marked(identifier, b't', out);
                out.push(b'Q');
            }
        }
    }
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    out.push(b'X');
    out.extend(u32::try_from(text.len()).unwrap().to_le_bytes());
    out.extend(text.bytes());
}

fn write_marked(items: &[Py], opcode: u8, out: &mut Vec<u8>) {
    out.push(b'(');
    for item in items {
        item.write(out);
    }
    out.push(opcode);
}

pub(crate) fn dict(entries: Vec<(&str, Py)>) -> Py {
    Py::Dict(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn ints(numbers: &[i32]) -> Vec<Py> {
    numbers.iter().copied().map(Py::Int).collect()
}

pub(crate) fn tuple(numbers: &[i32]) -> Py {
    Py::Tuple(ints(numbers))
}

/// An archive as `torch.save` writes it, with these files below its folder.
pub(crate) fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        // As PyTorch writes them; where another crate brings compression in, it would be the default.
        let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        zip.start_file(format!("archive/{name}"), stored).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// A checkpoint in the making.
#[derive(Default)]
pub(crate) struct Checkpoint {
    storages: Vec<Vec<u8>>,
}

impl Checkpoint {
    /// A float tensor.
    pub(crate) fn tensor(&mut self, shape: &[i32], numbers: &[f32]) -> Py {
        let mut strides = shape.to_vec();
        let mut stride = 1;
        for (place, size) in strides.iter_mut().zip(shape).rev() {
            *place = stride;
            stride *= size;
        }
        self.strided(
            "FloatStorage",
            numbers.iter().flat_map(|number| number.to_le_bytes()),
            0,
            shape,
            &strides,
        )
    }

    /// Any tensor, on a storage of its own.
    pub(crate) fn strided(
        &mut self,
        storage: &'static str,
        bytes: impl IntoIterator<Item = u8>,
        offset: i32,
        shape: &[i32],
        strides: &[i32],
    ) -> Py {
        self.storages.push(bytes.into_iter().collect());
        let key: &'static str = (self.storages.len() - 1).to_string().leak();
        let identifier = vec![
            Py::Text("storage"),
            Py::Global("torch", storage),
            Py::Text(key),
            Py::Text("cpu"),
            Py::Int(0),
        ];
        let arguments = vec![
            Py::Persistent(identifier),
            Py::Int(offset),
            tuple(shape),
            tuple(strides),
            Py::Bool(false),
            Py::None,
        ];
        Py::Call(Box::new(Py::Global("torch._utils", "_rebuild_tensor_v2")), arguments)
    }

    /// A tensor all of whose numbers are the same.
    fn uniform(&mut self, shape: &[i32], number: f32) -> Py {
        let count = usize::try_from(shape.iter().product::<i32>()).unwrap();
        self.tensor(shape, &vec![number; count])
    }

    pub(crate) fn conv2d(&mut self, input: i32, output: i32, kernel: i32, bias: bool) -> Py {
        let weight = self.uniform(&[output, input, kernel, kernel], 0.5);
        let weight = Py::Call(
            Box::new(Py::Global("torch._utils", "_rebuild_parameter")),
            vec![weight, Py::Bool(true), Py::None],
        );
        let bias = if bias { self.uniform(&[output], 0.25) } else { Py::None };
        module(("torch.nn.modules.conv", "Conv2d"))
            .parameters(vec![("weight", weight), ("bias", bias)])
            .attributes(vec![
                ("kernel_size", tuple(&[kernel, kernel])),
                ("stride", tuple(&[1, 1])),
                ("padding", tuple(&[kernel / 2, kernel / 2])),
                ("dilation", tuple(&[1, 1])),
                ("groups", Py::Int(1)),
                ("padding_mode", Py::Text("zeros")),
                ("transposed", Py::Bool(false)),
            ])
            .build()
    }

    /// A normalization to `(x - 1) / 2 + 3`.
    pub(crate) fn batch_norm(&mut self, channels: i32) -> Py {
        let mut vector = |number| self.uniform(&[channels], number);
        module(("torch.nn.modules.batchnorm", "BatchNorm2d"))
            .parameters(vec![("weight", vector(1.0)), ("bias", vector(3.0))])
            .buffers(vec![("running_mean", vector(1.0)), ("running_var", vector(3.5))])
            .attributes(vec![("eps", Py::Float(0.5))])
            .build()
    }

    pub(crate) fn conv(&mut self, input: i32, output: i32, kernel: i32) -> Build {
        let children = vec![
            ("conv", self.conv2d(input, output, kernel, false)),
            ("bn", self.batch_norm(output)),
            ("act", module(("torch.nn.modules.activation", "SiLU")).build()),
        ];
        module(("models.common", "Conv")).children(children)
    }

    fn c3(&mut self, channels: i32, add: bool) -> Build {
        let bottleneck = module(("models.common", "Bottleneck"))
            .children(vec![
                ("cv1", self.conv(channels, channels, 1).build()),
                ("cv2", self.conv(channels, channels, 3).build()),
            ])
            .attributes(vec![("add", Py::Bool(add))]);
        module(("models.common", "C3")).children(vec![
            ("cv1", self.conv(channels, channels, 1).build()),
            ("cv2", self.conv(channels, channels, 1).build()),
            ("cv3", self.conv(2 * channels, channels, 1).build()),
            ("m", sequential(vec![bottleneck.build()])),
        ])
    }

    fn sppf(&mut self, channels: i32) -> Build {
        let pool = module(("torch.nn.modules.pooling", "MaxPool2d")).attributes(vec![
            ("kernel_size", Py::Int(5)),
            ("stride", Py::Int(1)),
            ("padding", Py::Int(2)),
            ("dilation", Py::Int(1)),
            ("ceil_mode", Py::Bool(false)),
        ]);
        module(("models.common", "SPPF")).children(vec![
            ("cv1", self.conv(channels, channels, 1).build()),
            ("cv2", self.conv(4 * channels, channels, 1).build()),
            ("m", pool.build()),
        ])
    }

    /// One scale of stride 8 with one anchor of 2 × 4 cells, two classes.
    fn detect(&mut self, channels: i32) -> Build {
        let convolutions = vec![("0", self.conv2d(channels, 7, 1, true))];
        let convolutions = module(("torch.nn.modules.container", "ModuleList")).children(convolutions);
        let anchors = self.tensor(&[1, 1, 2], &[2.0, 4.0]);
        let stride = self.tensor(&[1], &[8.0]);
        module(("models.yolo", "Detect"))
            .children(vec![("m", convolutions.build())])
            .buffers(vec![("anchors", anchors)])
            .attributes(vec![
                ("nc", Py::Int(2)),
                ("no", Py::Int(7)),
                ("nl", Py::Int(1)),
                ("na", Py::Int(1)),
                ("stride", stride),
            ])
    }

    /// The layers of a small YOLOv5: each kind of layer once.
    pub(crate) fn layers(&mut self) -> Vec<(Build, Py)> {
        let upsample = module(("torch.nn.modules.upsampling", "Upsample"))
            .attributes(vec![("mode", Py::Text("nearest")), ("scale_factor", Py::Float(2.0))]);
        let concat = module(("models.common", "Concat")).attributes(vec![("d", Py::Int(1))]);
        vec![
            (self.conv(3, 2, 3), Py::Int(-1)),
            (self.c3(2, true), Py::Int(-1)),
            (self.c3(2, false), Py::Int(-1)),
            (self.sppf(2), Py::Int(-1)),
            (upsample, Py::Int(0)),
            (concat, Py::List(ints(&[-1, 4]))),
            (self.detect(4), Py::List(ints(&[5]))),
        ]
    }

    /// The file, of a model of these layers and what each reads.
    pub(crate) fn save(&self, layers: Vec<(Build, Py)>) -> Vec<u8> {
        let numbered = layers.into_iter().zip(0..);
        let layers = numbered
            .map(|((layer, from), index)| layer.attributes(vec![("i", Py::Int(index)), ("f", from)]).build())
            .collect();
        self.save_model(
            module(("models.yolo", "Model")).children(vec![("model", sequential(layers))]).build(),
        )
    }

    /// The file, of any model.
    pub(crate) fn save_model(&self, model: Py) -> Vec<u8> {
        let pickle = dict(vec![("epoch", Py::Int(-1)), ("model", model)]).pickle();
        let names = (0..self.storages.len()).map(|key| format!("data/{key}")).collect::<Vec<_>>();
        let mut files = vec![("data.pkl", pickle.as_slice())];
        files.extend(names.iter().zip(&self.storages).map(|(name, bytes)| (name.as_str(), bytes.as_slice())));
        archive(&files)
    }

    /// The storages by their keys.
    pub(crate) fn storages(&self) -> crate::archive::Storages {
        self.storages.iter().enumerate().map(|(key, bytes)| (key.to_string(), bytes.clone())).collect()
    }
}

/// The file of a small YOLOv5.
pub(crate) fn yolov5() -> Vec<u8> {
    let mut checkpoint = Checkpoint::default();
    let layers = checkpoint.layers();
    checkpoint.save(layers)
}

fn sequential(modules: Vec<Py>) -> Py {
    let names = (0..modules.len()).map(|index| index.to_string()).collect::<Vec<_>>();
    module(("torch.nn.modules.container", "Sequential"))
        .children(names.iter().map(String::as_str).zip(modules).collect())
        .build()
}

/// A module in the making.
#[derive(Clone, Debug)]
pub(crate) struct Build {
    class: (&'static str, &'static str),
    parameters: Vec<(String, Py)>,
    buffers: Vec<(String, Py)>,
    children: Vec<(String, Py)>,
    attributes: Vec<(String, Py)>,
}

/// A module of this class, which is a Python module and a name in it.
pub(crate) fn module(class: (&'static str, &'static str)) -> Build {
    Build { class, parameters: vec![], buffers: vec![], children: vec![], attributes: vec![] }
}

fn add(to: &mut Vec<(String, Py)>, entries: Vec<(&str, Py)>) {
    to.extend(entries.into_iter().map(|(key, value)| (key.to_owned(), value)));
}

impl Build {
    pub(crate) fn parameters(mut self, entries: Vec<(&str, Py)>) -> Self {
        add(&mut self.parameters, entries);
        self
    }

    pub(crate) fn buffers(mut self, entries: Vec<(&str, Py)>) -> Self {
        add(&mut self.buffers, entries);
        self
    }

    pub(crate) fn children(mut self, entries: Vec<(&str, Py)>) -> Self {
        add(&mut self.children, entries);
        self
    }

    /// Adds attributes; one that is there already is overridden.
    pub(crate) fn attributes(mut self, entries: Vec<(&str, Py)>) -> Self {
        add(&mut self.attributes, entries);
        self
    }

    pub(crate) fn build(self) -> Py {
        let mut state = vec![
            ("_parameters".to_owned(), Py::Dict(self.parameters)),
            ("_buffers".to_owned(), Py::Dict(self.buffers)),
            ("_modules".to_owned(), Py::Dict(self.children)),
        ];
        state.extend(self.attributes);
        Py::Instance(Box::new(Py::Global(self.class.0, self.class.1)), Box::new(Py::Dict(state)))
    }
}
