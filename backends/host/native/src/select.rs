//! From the lane form to instructions of a level over any number of registers.

use crate::Level;
use crate::asm::CONSTANT_BYTES;
use crate::asm::forms::{self as f, Form, Shape};
use crate::lane::{Binary, Builder, Kind, Node, Unary, Value};

/// What an instruction reads or writes: a value, which a register is found for later.
pub(crate) type Virtual = u16;

/// What a value is, for who finds registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    /// In a vector register; the number is that of the vector's bytes.
    Vector(u8),
    /// In a mask register.
    Mask,
}

/// Where a value is that every turn of the loop has alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// It is computed in each turn.
    Turn,
    /// It is computed before the loop.
    Before,
    /// It is the constant of this number.
    Constant(usize),
}

/// What is done.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// `reads`: in `vvvv`, or in `reg` where the result is in `rm`; in `rm`; in the last byte; as the mask.
    Vector { form: &'static Form, bytes: u8, to: Virtual, reads: [Option<Virtual>; 4], last: u8 },
    /// Elements of an operand, of so many bytes each.
    Load { operand: u8, size: u8, to: Virtual },
    /// An operand's one element in each lane.
    Splat { operand: u8, size: u8, to: Virtual },
    /// The reverse of a load.
    Store { operand: u8, size: u8, from: Virtual },
    /// A value stays in the register of what is carried from round to round, by its number.
    Keep { carried: usize, from: Virtual },
}

impl Step {
    pub(crate) fn reads(&self) -> impl Iterator<Item = Virtual> {
        let all = match *self {
            Self::Vector { reads, .. } => reads,
            Self::Store { from, .. } | Self::Keep { from, .. } => [Some(from), None, None, None],
            Self::Load { .. } | Self::Splat { .. } => [None; 4],
        };
        all.into_iter().flatten()
    }
    pub(crate) fn to(&self) -> Option<Virtual> {
        match *self {
            Self::Vector { to, .. } | Self::Load { to, .. } | Self::Splat { to, .. } => Some(to),
            Self::Store { .. } | Self::Keep { .. } => None,
        }
    }
}

/// A form as instructions.
pub(crate) struct Selected {
    pub(crate) level: Level,
    /// Elements of a vector.
    pub(crate) lanes: u8,
    pub(crate) before: Vec<Step>,
    pub(crate) turn: Vec<Step>,
    pub(crate) classes: Vec<Class>,
    pub(crate) origins: Vec<Origin>,
    pub(crate) constants: Vec<[u8; CONSTANT_BYTES]>,
}

/// A predicate of floating-point comparisons: equal, below, not above, unordered; not one of them tells of NaN to the processor.
const PREDICATES: [u8; 4] = [0x00, 0x11, 0x12, 0x03];

/// Bytes of an element.
fn by_size(size: u8, forms: [&'static Form; 4]) -> &'static Form {
    forms[usize::try_from(size.trailing_zeros()).unwrap_or(0) & 3]
}

/// The instructions, for so many lanes of a vector at most; `None` where the builder let something pass that the level has not.
pub(crate) fn select(form: &Builder, most_lanes: u8) -> Option<Selected> {
    let mut needed = vec![false; form.nodes.len()];
    for &(_, value) in &form.stores {
        needed[value.index()] = true;
    }
    let mut widest = form.stores.iter().map(|(_, value)| value.kind().size()).max().unwrap_or(1).max(1);
    for (number, &(node, kind)) in form.nodes.iter().enumerate().rev() {
        if !needed[number] {
            continue;
        }
        widest = widest.max(kind.size());
        let (x, y, z) = match node {
            Node::Unary(_, x) => (Some(x), None, None),
            Node::Binary(_, x, y) => (Some(x), Some(y), None),
            Node::Select(x, y, z) => (Some(x), Some(y), Some(z)),
            _ => (None, None, None),
        };
        for value in [x, y, z].into_iter().flatten() {
            needed[value.index()] = true;
        }
    }
    let vector = if form.level == Level::Avx512 { 64 } else { 32 };
    let mut selector = Selector {
        out: Selected {
            level: form.level,
            lanes: (vector / widest).min(most_lanes),
            before: Vec::new(),
            turn: Vec::new(),
            classes: Vec::new(),
            origins: Vec::new(),
            constants: Vec::new(),
        },
        values: vec![None; form.nodes.len()],
    };
    for (number, &(node, kind)) in form.nodes.iter().enumerate() {
        if needed[number] {
            let value = selector.node(node, kind)?;
            selector.values[number] = Some(value);
        }
    }
    for &(operand, value) in &form.stores {
        let from = selector.value(value)?;
        selector.out.turn.push(Step::Store { operand, size: value.kind().size(), from });
    }
    Some(selector.out)
}

struct Selector {
    out: Selected,
    /// What each node of the form is in.
    values: Vec<Option<Virtual>>,
}

impl Selector {
    fn is_wide(&self) -> bool {
        self.out.level == Level::Avx512
    }
    /// Bytes of a vector of elements of a size, as instructions have them.
    fn bytes(&self, size: u8) -> u8 {
        (self.out.lanes * size).max(16)
    }
    fn value(&self, value: Value) -> Option<Virtual> {
        self.values.get(value.index()).copied().flatten()
    }
    fn new_value(&mut self, class: Class, origin: Origin) -> Option<Virtual> {
        let number = u16::try_from(self.out.classes.len()).ok()?;
        self.out.classes.push(class);
        self.out.origins.push(origin);
        Some(number)
    }
    fn constant(&mut self, bytes: [u8; CONSTANT_BYTES]) -> Option<Virtual> {
        let found = self.out.constants.iter().position(|&other| other == bytes);
        let number = found.unwrap_or_else(|| {
            self.out.constants.push(bytes);
            self.out.constants.len() - 1
        });
        let known = self.out.origins.iter().position(|&origin| origin == Origin::Constant(number));
        match known {
            Some(value) => u16::try_from(value).ok(),
            None => {
                let bytes = if self.is_wide() { 64 } else { 32 };
                self.new_value(Class::Vector(bytes), Origin::Constant(number))
            }
        }
    }
    /// A constant of one element's bits in each lane.
    fn splat(&mut self, size: u8, bits: u64) -> Option<Virtual> {
        let (bits, size) = (bits.to_le_bytes(), usize::from(size));
        self.constant(std::array::from_fn(|i| bits[i % size]))
    }

    fn push(
        &mut self,
        form: &'static Form,
        bytes: u8,
        class: Class,
        reads: [Option<Virtual>; 4],
        last: u8,
    ) -> Option<Virtual> {
        let turns = reads.iter().flatten().any(|&v| self.out.origins[usize::from(v)] == Origin::Turn);
        let to = self.new_value(class, if turns { Origin::Turn } else { Origin::Before })?;
        let step = Step::Vector { form, bytes, to, reads, last };
        if turns {
            self.out.turn.push(step)
        } else {
            self.out.before.push(step)
        }
        Some(to)
    }
    /// An instruction of two sources, whose result is as long.
    fn two(&mut self, form: &'static Form, bytes: u8, x: Virtual, y: Virtual) -> Option<Virtual> {
        self.push(form, bytes, Class::Vector(bytes), [Some(x), Some(y), None, None], 0)
    }
    /// An instruction of one source; the wider side has so many bytes, the result `to`.
    fn one(&mut self, form: &'static Form, bytes: u8, to: u8, x: Virtual, last: u8) -> Option<Virtual> {
        let reads = match form.shape {
            Shape::Mr | Shape::MrI => [Some(x), None, None, None],
            _ => [None, Some(x), None, None],
        };
        self.push(form, bytes, Class::Vector(to), reads, last)
    }

    fn node(&mut self, node: Node, kind: Kind) -> Option<Virtual> {
        let size = kind.size();
        match node {
            Node::Load(operand) => {
                let to = self.new_value(Class::Vector(self.bytes(size)), Origin::Turn)?;
                self.out.turn.push(Step::Load { operand, size, to });
                Some(to)
            }
            Node::Uniform(operand) => {
                let to = self.new_value(Class::Vector(self.bytes(size)), Origin::Before)?;
                self.out.before.push(Step::Splat { operand, size, to });
                Some(to)
            }
            Node::Spread(operand) => {
                let to = self.new_value(Class::Vector(self.bytes(size)), Origin::Turn)?;
                self.out.turn.push(Step::Splat { operand, size, to });
                Some(to)
            }
            Node::Constant(bits) => self.splat(size, bits),
            Node::Unary(op, x) => self.unary(op, x, kind),
            Node::Binary(op, x, y) => self.binary(op, x, y),
            Node::Select(mask, yes, no) => {
                let bytes = self.bytes(size);
                let [mask, yes, no] = [self.value(mask)?, self.value(yes)?, self.value(no)?];
                let (form, reads) = if self.is_wide() {
                    let form = by_size(size, [&f::PBLENDMB, &f::PBLENDMW, &f::PBLENDMD, &f::PBLENDMQ]);
                    (form, [Some(no), Some(yes), None, Some(mask)])
                } else {
                    let form = by_size(size, [&f::PBLENDVB, &f::PBLENDVB, &f::BLENDVPS, &f::BLENDVPD]);
                    (form, [Some(no), Some(yes), Some(mask), None])
                };
                self.push(form, bytes, Class::Vector(bytes), reads, 0)
            }
        }
    }

    fn unary(&mut self, op: Unary, value: Value, kind: Kind) -> Option<Virtual> {
        let from = value.kind();
        let x = self.value(value)?;
        let (size, bytes) = (kind.size(), self.bytes(kind.size().max(from.size())));
        let double = from.size() == 8;
        match op {
            Unary::Sqrt => self.one(if double { &f::SQRTPD } else { &f::SQRTPS }, bytes, bytes, x, 0),
            Unary::Round(direction) => {
                // Without a report of inexactness.
                let form = match (self.is_wide(), double) {
                    (false, false) => &f::ROUNDPS,
                    (false, true) => &f::ROUNDPD,
                    (true, false) => &f::RNDSCALEPS,
                    (true, true) => &f::RNDSCALEPD,
                };
                self.one(form, bytes, bytes, x, 8 | direction)
            }
            Unary::Magnitude => {
                self.one(by_size(size, [&f::PABSB, &f::PABSW, &f::PABSD, &f::PABSQ]), bytes, bytes, x, 0)
            }
            Unary::Left(places) => {
                self.one(by_size(size, [&f::PSLLW, &f::PSLLW, &f::PSLLD, &f::PSLLQ]), bytes, bytes, x, places)
            }
            Unary::Right(places) => {
                self.one(by_size(size, [&f::PSRLW, &f::PSRLW, &f::PSRLD, &f::PSRLQ]), bytes, bytes, x, places)
            }
            Unary::FromHalf => self.one(&f::CVTPH2PS, bytes, bytes, x, 0),
            Unary::ToHalf => self.one(&f::CVTPS2PH, bytes, self.bytes(2), x, 0),
            Unary::Not => self.push(&f::KNOTQ, 16, Class::Mask, [None, Some(x), None, None], 0),
            Unary::Ones => {
                let ones = self.splat(1, 1)?;
                let bytes = self.bytes(1);
                if self.is_wide() {
                    let reads = [None, Some(ones), None, Some(x)];
                    return self.push(&f::MOVDQU8, bytes, Class::Vector(bytes), reads, 0);
                }
                self.two(&f::PAND, bytes, x, ones)
            }
            Unary::Convert => self.convert(x, from, kind, bytes),
        }
    }

    fn convert(&mut self, x: Virtual, from: Kind, to: Kind, bytes: u8) -> Option<Virtual> {
        use Kind::{F32, F64, I32, I64, U32, U64};
        let to_bytes = self.bytes(to.size());
        let form = match (from, to) {
            (F32, F64) => &f::CVTPS2PD,
            (F64, F32) => &f::CVTPD2PS,
            (I32, F32) => &f::CVTDQ2PS,
            (I32, F64) => &f::CVTDQ2PD,
            (F32, I32) => &f::CVTTPS2DQ,
            (F64, I32) => &f::CVTTPD2DQ,
            (U32, F32) => &f::CVTUDQ2PS,
            (U32, F64) => &f::CVTUDQ2PD,
            (I64, F32) => &f::CVTQQ2PS,
            (I64, F64) => &f::CVTQQ2PD,
            (U64, F32) => &f::CVTUQQ2PS,
            (U64, F64) => &f::CVTUQQ2PD,
            (F32, U32) => &f::CVTTPS2UDQ,
            (F64, U32) => &f::CVTTPD2UDQ,
            (F32, I64) => &f::CVTTPS2QQ,
            (F64, I64) => &f::CVTTPD2QQ,
            (F32, U64) => &f::CVTTPS2UQQ,
            (F64, U64) => &f::CVTTPD2UQQ,
            _ if from.is_float() || to.is_float() => return None,
            _ => match (from.is_signed(), from.size(), to.size()) {
                (true, 1, 2) => &f::PMOVSXBW,
                (true, 1, 4) => &f::PMOVSXBD,
                (true, 1, 8) => &f::PMOVSXBQ,
                (true, 2, 4) => &f::PMOVSXWD,
                (true, 2, 8) => &f::PMOVSXWQ,
                (true, 4, 8) => &f::PMOVSXDQ,
                (false, 1, 2) => &f::PMOVZXBW,
                (false, 1, 4) => &f::PMOVZXBD,
                (false, 1, 8) => &f::PMOVZXBQ,
                (false, 2, 4) => &f::PMOVZXWD,
                (false, 2, 8) => &f::PMOVZXWQ,
                (false, 4, 8) => &f::PMOVZXDQ,
                (_, from, to) if from > to => return self.narrow(x, from, to),
                _ => return Some(x),
            },
        };
        if form.vex.is_none() && !self.is_wide() {
            return None;
        }
        self.one(form, bytes, to_bytes, x, 0)
    }

    /// The lower bits of each lane.
    fn narrow(&mut self, x: Virtual, from: u8, to: u8) -> Option<Virtual> {
        let (bytes, to_bytes) = (self.bytes(from), self.bytes(to));
        if self.is_wide() {
            let form = match (from, to) {
                (2, _) => &f::PMOVWB,
                (4, 1) => &f::PMOVDB,
                (4, _) => &f::PMOVDW,
                (_, 1) => &f::PMOVQB,
                (_, 2) => &f::PMOVQW,
                _ => &f::PMOVQD,
            };
            return self.one(form, bytes, to_bytes, x, 0);
        }
        if from == 8 {
            // Four lanes: the lower halves of those of both halves of the register.
            let upper = self.one(&f::EXTRACTI128, 32, 16, x, 1)?;
            let halves =
                self.push(&f::SHUFPS, 16, Class::Vector(16), [Some(x), Some(upper), None, None], 0x88)?;
            return if to == 4 { Some(halves) } else { self.narrow(halves, 4, to) };
        }
        // In each half of a register, the lower bytes of its lanes one after another, and nothing behind them.
        let pattern = |i: usize| {
            let (from, to) = (usize::from(from), usize::from(to));
            let (lane, byte) = (i % 16 / to, i % to);
            if lane < 16 / from { u8::try_from(lane * from + byte).unwrap_or(0x80) } else { 0x80 }
        };
        let pattern = self.constant(std::array::from_fn(pattern))?;
        let packed = self.two(&f::PSHUFB, bytes, x, pattern)?;
        match (bytes, from / to) {
            (16, _) => Some(packed),
            (_, 2) => self.one(&f::PERMQ, 32, 16, packed, 0b1000),
            _ => {
                let upper = self.one(&f::EXTRACTI128, 32, 16, packed, 1)?;
                self.two(&f::PUNPCKLDQ, 16, packed, upper)
            }
        }
    }

    fn binary(&mut self, op: Binary, first: Value, second: Value) -> Option<Virtual> {
        let kind = first.kind();
        let (mut x, mut y) = (self.value(first)?, self.value(second)?);
        let (size, wide) = (kind.size(), self.is_wide());
        let (double, float) = (size == 8, kind.is_float());
        let in_order = matches!(
            op,
            Binary::Add
                | Binary::Multiply
                | Binary::And
                | Binary::Or
                | Binary::Xor
                | Binary::HalfProduct
                | Binary::Equal
        );
        // What can be read from memory stands last.
        if in_order
            && self.out.origins[usize::from(x)] != Origin::Turn
            && self.out.origins[usize::from(y)] == Origin::Turn
        {
            (x, y) = (y, x);
        }
        if kind == Kind::Mask(0) {
            let form = match op {
                Binary::And => &f::KANDQ,
                Binary::Or => &f::KORQ,
                Binary::Xor => &f::KXORQ,
                _ => &f::KANDNQ,
            };
            return self.push(form, 32, Class::Mask, [Some(x), Some(y), None, None], 0);
        }
        let bytes = self.bytes(size);
        if let Binary::Equal | Binary::Less | Binary::LessEqual | Binary::Unordered = op {
            let number = match op {
                Binary::Equal => 0,
                Binary::Less => 1,
                Binary::LessEqual => 2,
                _ => 3,
            };
            let reads = [Some(x), Some(y), None, None];
            if wide {
                let form = match (float, kind.is_signed()) {
                    (true, _) => {
                        if double {
                            &f::CMPPD_K
                        } else {
                            &f::CMPPS_K
                        }
                    }
                    (_, true) => by_size(size, [&f::PCMPB_K, &f::PCMPW_K, &f::PCMPD_K, &f::PCMPQ_K]),
                    (_, false) => by_size(size, [&f::PCMPUB_K, &f::PCMPUW_K, &f::PCMPUD_K, &f::PCMPUQ_K]),
                };
                let last = if float { PREDICATES[number] } else { u8::try_from(number).ok()? };
                return self.push(form, bytes, Class::Mask, reads, last);
            }
            if float {
                let form = if double { &f::CMPPD } else { &f::CMPPS };
                return self.push(form, bytes, Class::Vector(bytes), reads, PREDICATES[number]);
            }
            return match op {
                Binary::Equal => {
                    self.two(by_size(size, [&f::PCMPEQB, &f::PCMPEQW, &f::PCMPEQD, &f::PCMPEQQ]), bytes, x, y)
                }
                // There is only "greater".
                Binary::Less if kind.is_signed() => {
                    self.two(by_size(size, [&f::PCMPGTB, &f::PCMPGTW, &f::PCMPGTD, &f::PCMPGTQ]), bytes, y, x)
                }
                _ => None,
            };
        }
        let floats =
            |single: &'static Form, double_form: &'static Form| if double { double_form } else { single };
        let form = match (op, float) {
            (Binary::Add, true) => floats(&f::ADDPS, &f::ADDPD),
            (Binary::Subtract, true) => floats(&f::SUBPS, &f::SUBPD),
            (Binary::Multiply, true) => floats(&f::MULPS, &f::MULPD),
            (Binary::Divide, true) => floats(&f::DIVPS, &f::DIVPD),
            (Binary::Least, true) => floats(&f::MINPS, &f::MINPD),
            (Binary::Greatest, true) => floats(&f::MAXPS, &f::MAXPD),
            (Binary::And, true) => &f::ANDPS,
            (Binary::Or, true) => &f::ORPS,
            (Binary::Xor, true) => &f::XORPS,
            (Binary::Without, true) => &f::ANDNPS,
            (Binary::And, false) => {
                if wide {
                    &f::PANDD
                } else {
                    &f::PAND
                }
            }
            (Binary::Or, false) => {
                if wide {
                    &f::PORD
                } else {
                    &f::POR
                }
            }
            (Binary::Xor, false) => {
                if wide {
                    &f::PXORD
                } else {
                    &f::PXOR
                }
            }
            (Binary::Without, false) => {
                if wide {
                    &f::PANDND
                } else {
                    &f::PANDN
                }
            }
            (Binary::Add, false) => by_size(size, [&f::PADDB, &f::PADDW, &f::PADDD, &f::PADDQ]),
            (Binary::Subtract, false) => by_size(size, [&f::PSUBB, &f::PSUBW, &f::PSUBD, &f::PSUBQ]),
            (Binary::Multiply, false) if size == 1 => return self.products_of_bytes(x, y, bytes),
            (Binary::Multiply, false) => by_size(size, [&f::PMULLW, &f::PMULLW, &f::PMULLD, &f::PMULLQ]),
            (Binary::HalfProduct, false) => &f::PMULUDQ,
            (Binary::Least, false) if kind.is_signed() => {
                by_size(size, [&f::PMINSB, &f::PMINSW, &f::PMINSD, &f::PMINSQ])
            }
            (Binary::Least, false) => by_size(size, [&f::PMINUB, &f::PMINUW, &f::PMINUD, &f::PMINUQ]),
            (Binary::Greatest, false) if kind.is_signed() => {
                by_size(size, [&f::PMAXSB, &f::PMAXSW, &f::PMAXSD, &f::PMAXSQ])
            }
            (Binary::Greatest, false) => by_size(size, [&f::PMAXUB, &f::PMAXUW, &f::PMAXUD, &f::PMAXUQ]),
            (Binary::Left, false) if size > 1 => {
                by_size(size, [&f::PSLLVW, &f::PSLLVW, &f::PSLLVD, &f::PSLLVQ])
            }
            (Binary::Right, false) if size > 1 => {
                by_size(size, [&f::PSRLVW, &f::PSRLVW, &f::PSRLVD, &f::PSRLVQ])
            }
            (Binary::RightSigned, false) if size > 1 => {
                by_size(size, [&f::PSRAVW, &f::PSRAVW, &f::PSRAVD, &f::PSRAVQ])
            }
            _ => return None,
        };
        if form.vex.is_none() && !wide {
            return None;
        }
        self.two(form, bytes, x, y)
    }

    /// Products of bytes: of the even and the odd ones as 16 bits.
    fn products_of_bytes(&mut self, x: Virtual, y: Virtual, bytes: u8) -> Option<Virtual> {
        let (and, or) = if self.is_wide() { (&f::PANDD, &f::PORD) } else { (&f::PAND, &f::POR) };
        let even = self.two(&f::PMULLW, bytes, x, y)?;
        let low = self.splat(2, 0xff)?;
        let even = self.two(and, bytes, even, low)?;
        let x = self.one(&f::PSRLW, bytes, bytes, x, 8)?;
        let y = self.one(&f::PSRLW, bytes, bytes, y, 8)?;
        let odd = self.two(&f::PMULLW, bytes, x, y)?;
        let odd = self.one(&f::PSLLW, bytes, bytes, odd, 8)?;
        self.two(or, bytes, even, odd)
    }
}
