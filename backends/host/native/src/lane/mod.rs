//! The lane form: straight code in single assignment, over vectors whose number of lanes the compiler chooses.
//!
//! A value has one element in each lane: a number of a [`Kind`], or a truth value. What is loaded lies element after element
//! ([`Builder::load`]) or is one for all lanes ([`Builder::uniform`], [`Builder::constant`]); what is computed from values that are one
//! for all is one for all, and is computed before the loop. All loads of a vector's elements come before its stores, so that an
//! operand may be read and written at the same address.

mod convert;

use crate::Level;

/// What an element is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs)]
pub enum Kind {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
    /// True or false. Its number is the bytes of a lane where the level has no registers for masks.
    Mask(u8),
}

impl Kind {
    /// Bytes of an element.
    #[must_use]
    pub const fn size(self) -> u8 {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
            Self::Mask(size) => size,
        }
    }
    /// Whether it is a floating-point number.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }
    /// Whether it is an integer with a sign.
    #[must_use]
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }
    /// Whether it is a truth value.
    #[must_use]
    pub const fn is_mask(self) -> bool {
        matches!(self, Self::Mask(_))
    }
    /// The integer with a sign of so many bytes.
    #[must_use]
    pub const fn signed(size: u8) -> Self {
        match size {
            1 => Self::I8,
            2 => Self::I16,
            4 => Self::I32,
            _ => Self::I64,
        }
    }
    /// The integer without a sign of so many bytes.
    #[must_use]
    pub const fn unsigned(size: u8) -> Self {
        match size {
            1 => Self::U8,
            2 => Self::U16,
            4 => Self::U32,
            _ => Self::U64,
        }
    }
    const fn bits(self) -> u32 {
        8 * self.size() as u32
    }
}

/// A value of a form, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Value {
    number: u16,
    kind: Kind,
}

impl Value {
    /// What its elements are.
    #[must_use]
    pub const fn kind(self) -> Kind {
        self.kind
    }
    pub(crate) fn index(self) -> usize {
        usize::from(self.number)
    }
}

/// An operation on one value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Unary {
    Sqrt,
    /// To an integer, in the direction of this number: 0 to nearest, 1 down, 2 up, 3 towards 0.
    Round(u8),
    /// The magnitude of an integer.
    Magnitude,
    /// Bits moved up, and down with zeros.
    Left(u8),
    Right(u8),
    /// To what is wider or narrower by its lower bits, or as near as a float has it; to an integer, one that is in range.
    Convert,
    /// 16 bits of a half-precision float to single precision, and the nearest of those.
    FromHalf,
    ToHalf,
    /// A mask, inverted.
    Not,
    /// 1 where a mask is true, else 0.
    Ones,
}

/// An operation on two values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    /// The first where it is smaller, else the second, of numbers without NaN and zeros of unlike sign.
    Least,
    Greatest,
    And,
    Or,
    Xor,
    /// Of the second, what the first has not.
    Without,
    /// By as many places as each lane says.
    Left,
    Right,
    RightSigned,
    /// The whole product of the lower halves.
    HalfProduct,
    Equal,
    Less,
    LessEqual,
    /// Whether one of them is NaN.
    Unordered,
}

/// How a value is had.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Node {
    Load(u8),
    Uniform(u8),
    Spread(u8),
    Constant(u64),
    Unary(Unary, Value),
    Binary(Binary, Value, Value),
    /// The first where the mask is true, else the second.
    Select(Value, Value, Value),
}

/// Values of a form at most: of more, numbers do not fit, and registers are not what limits it.
const MAX_VALUES: usize = 1024;

/// Code that is being built for a level. Methods answer `None` where the level has no way for an operation, or the form is too long.
#[derive(Clone, Debug)]
pub struct Builder {
    pub(crate) level: Level,
    pub(crate) nodes: Vec<(Node, Kind)>,
    pub(crate) stores: Vec<(u8, Value)>,
}

/// How far a [`Builder`] was.
#[derive(Clone, Copy, Debug)]
pub struct Mark(usize, usize);

impl Builder {
    /// Nothing yet.
    #[must_use]
    pub fn new(level: Level) -> Self {
        Self { level, nodes: Vec::new(), stores: Vec::new() }
    }

    /// The level.
    #[must_use]
    pub const fn level(&self) -> Level {
        self.level
    }

    /// How far it is.
    #[must_use]
    pub fn mark(&self) -> Mark {
        Mark(self.nodes.len(), self.stores.len())
    }
    /// Forgets what came after a mark.
    pub fn back(&mut self, mark: Mark) {
        self.nodes.truncate(mark.0);
        self.stores.truncate(mark.1);
    }

    /// How many values it has.
    #[must_use]
    pub fn values(&self) -> usize {
        self.nodes.len()
    }
    /// How many operands it writes.
    #[must_use]
    pub fn stores(&self) -> usize {
        self.stores.len()
    }

    fn has_masks(&self) -> bool {
        self.level == Level::Avx512
    }

    fn node(&mut self, node: Node, kind: Kind) -> Option<Value> {
        let found = self.nodes.iter().position(|&other| other == (node, kind));
        let number = match found {
            Some(number) => number,
            None if self.nodes.len() >= MAX_VALUES => return None,
            None => {
                self.nodes.push((node, kind));
                self.nodes.len() - 1
            }
        };
        Some(Value { number: u16::try_from(number).ok()?, kind })
    }

    /// The elements of an operand that lie one after another.
    pub fn load(&mut self, operand: u8, kind: Kind) -> Option<Value> {
        self.node(Node::Load(operand), kind)
    }
    /// An operand's one element.
    pub fn uniform(&mut self, operand: u8, kind: Kind) -> Option<Value> {
        self.node(Node::Uniform(operand), kind)
    }
    /// The same, of an operand that is another one in each turn.
    pub fn spread(&mut self, operand: u8, kind: Kind) -> Option<Value> {
        self.node(Node::Spread(operand), kind)
    }
    /// A constant, by its bits.
    pub fn constant(&mut self, kind: Kind, bits: u64) -> Option<Value> {
        let bits = if kind.bits() < 64 { bits & ((1 << kind.bits()) - 1) } else { bits };
        self.node(Node::Constant(bits), kind)
    }
    /// The number of a kind nearest to a float, which is an integer where that is one.
    pub fn number(&mut self, kind: Kind, number: f64) -> Option<Value> {
        let bits = match kind {
            Kind::F32 => u64::from((number as f32).to_bits()),
            Kind::F64 => number.to_bits(),
            kind if kind.is_signed() => (number as i64).cast_unsigned(),
            _ => number as u64,
        };
        self.constant(kind, bits)
    }
    /// A truth value.
    pub fn truth(&mut self, truth: bool) -> Option<Value> {
        let (zero, other) = (self.constant(Kind::U8, 0)?, self.constant(Kind::U8, u64::from(!truth))?);
        self.equal(zero, other)
    }
    /// Writes elements one after another. A mask is written as bytes of 0 and 1.
    pub fn store(&mut self, operand: u8, value: Value) -> Option<()> {
        let value = if value.kind.is_mask() { self.bytes(value)? } else { value };
        self.stores.push((operand, value));
        Some(())
    }

    fn unary(&mut self, op: Unary, x: Value, kind: Kind) -> Option<Value> {
        self.node(Node::Unary(op, x), kind)
    }
    fn binary(&mut self, op: Binary, x: Value, y: Value) -> Option<Value> {
        self.node(Node::Binary(op, x, y), x.kind)
    }
    fn compared(&mut self, op: Binary, x: Value, y: Value) -> Option<Value> {
        self.node(Node::Binary(op, x, y), self.mask_of(x.kind))
    }
    fn mask_of(&self, kind: Kind) -> Kind {
        Kind::Mask(if self.has_masks() { 0 } else { kind.size() })
    }

    /// The same bits as another kind of the same size.
    #[must_use]
    pub fn cast_bits(&self, x: Value, kind: Kind) -> Value {
        debug_assert_eq!(x.kind.size(), kind.size());
        Value { kind, ..x }
    }

    /// The sum; of integers, it wraps.
    pub fn add(&mut self, x: Value, y: Value) -> Option<Value> {
        self.binary(Binary::Add, x, y)
    }
    /// The difference; of integers, it wraps.
    pub fn subtract(&mut self, x: Value, y: Value) -> Option<Value> {
        self.binary(Binary::Subtract, x, y)
    }
    /// The product; of integers, it wraps.
    pub fn multiply(&mut self, x: Value, y: Value) -> Option<Value> {
        if x.kind.size() == 8 && !x.kind.is_float() && self.level == Level::Avx2 {
            let kind = x.kind;
            let high = [self.unary(Unary::Right(32), x, kind)?, self.unary(Unary::Right(32), y, kind)?];
            let crosswise = [
                self.binary(Binary::HalfProduct, high[0], y)?,
                self.binary(Binary::HalfProduct, x, high[1])?,
            ];
            let sum = self.binary(Binary::Add, crosswise[0], crosswise[1])?;
            let sum = self.unary(Unary::Left(32), sum, kind)?;
            let low = self.binary(Binary::HalfProduct, x, y)?;
            return self.binary(Binary::Add, low, sum);
        }
        self.binary(Binary::Multiply, x, y)
    }
    /// The quotient of floats.
    pub fn divide(&mut self, x: Value, y: Value) -> Option<Value> {
        self.binary(Binary::Divide, x, y)
    }
    /// The negative; of integers, it wraps.
    pub fn negative(&mut self, x: Value) -> Option<Value> {
        if x.kind.is_float() {
            let sign = self.sign(x.kind)?;
            return self.binary(Binary::Xor, x, sign);
        }
        let zero = self.constant(x.kind, 0)?;
        self.subtract(zero, x)
    }
    /// The magnitude; the most negative integer stays itself.
    pub fn magnitude(&mut self, x: Value) -> Option<Value> {
        match x.kind {
            Kind::F32 | Kind::F64 => {
                let sign = self.sign(x.kind)?;
                self.binary(Binary::Without, sign, x)
            }
            Kind::I64 if self.level == Level::Avx2 => {
                let zero = self.constant(x.kind, 0)?;
                let (negative, minus) = (self.less(x, zero)?, self.subtract(zero, x)?);
                self.select(negative, minus, x)
            }
            kind if kind.is_signed() => self.unary(Unary::Magnitude, x, kind),
            _ => Some(x),
        }
    }
    /// The magnitude of the first with the sign of the second, of floats.
    pub fn with_sign(&mut self, x: Value, y: Value) -> Option<Value> {
        let sign = self.sign(x.kind)?;
        let (size, sign) = (self.binary(Binary::Without, sign, x)?, self.binary(Binary::And, y, sign)?);
        self.binary(Binary::Or, size, sign)
    }
    /// The square root of a float.
    pub fn root(&mut self, x: Value) -> Option<Value> {
        self.unary(Unary::Sqrt, x, x.kind)
    }
    /// The nearest integer, halves to even; an integer itself.
    pub fn nearest(&mut self, x: Value) -> Option<Value> {
        self.rounded(x, 0)
    }
    /// The greatest integer that is not above.
    pub fn floor(&mut self, x: Value) -> Option<Value> {
        self.rounded(x, 1)
    }
    /// The least integer that is not below.
    pub fn ceil(&mut self, x: Value) -> Option<Value> {
        self.rounded(x, 2)
    }
    /// The integer next towards 0.
    pub fn trunc(&mut self, x: Value) -> Option<Value> {
        self.rounded(x, 3)
    }
    fn rounded(&mut self, x: Value, direction: u8) -> Option<Value> {
        if x.kind.is_float() { self.unary(Unary::Round(direction), x, x.kind) } else { Some(x) }
    }
    fn sign(&mut self, kind: Kind) -> Option<Value> {
        self.constant(kind, 1 << (kind.bits() - 1))
    }

    /// The smaller one. Of floats, NaN where either is NaN, and −0 is smaller than 0.
    pub fn minimum(&mut self, x: Value, y: Value) -> Option<Value> {
        if x.kind.is_float() {
            // Each order of operands gives the other zero and the other NaN: their union has −0 and NaN if any.
            let both = [self.binary(Binary::Least, x, y)?, self.binary(Binary::Least, y, x)?];
            return self.binary(Binary::Or, both[0], both[1]);
        }
        if x.kind.size() == 8 && self.level == Level::Avx2 {
            let less = self.less(y, x)?;
            return self.select(less, y, x);
        }
        self.binary(Binary::Least, x, y)
    }
    /// The larger one. Of floats, NaN where either is NaN, and 0 is larger than −0.
    pub fn maximum(&mut self, x: Value, y: Value) -> Option<Value> {
        if x.kind.is_float() {
            let both = [self.binary(Binary::Greatest, x, y)?, self.binary(Binary::Greatest, y, x)?];
            let (zeros, sum) = (self.binary(Binary::And, both[0], both[1])?, self.add(x, y)?);
            let nan = self.compared(Binary::Unordered, x, y)?;
            return self.select(nan, sum, zeros);
        }
        if x.kind.size() == 8 && self.level == Level::Avx2 {
            let less = self.less(x, y)?;
            return self.select(less, y, x);
        }
        self.binary(Binary::Greatest, x, y)
    }

    /// Bits of both.
    pub fn and(&mut self, x: Value, y: Value) -> Option<Value> {
        let [x, y] = self.alike(x, y)?;
        self.binary(Binary::And, x, y)
    }
    /// Bits of either.
    pub fn or(&mut self, x: Value, y: Value) -> Option<Value> {
        let [x, y] = self.alike(x, y)?;
        self.binary(Binary::Or, x, y)
    }
    /// Bits of one of them.
    pub fn xor(&mut self, x: Value, y: Value) -> Option<Value> {
        let [x, y] = self.alike(x, y)?;
        self.binary(Binary::Xor, x, y)
    }
    /// All bits inverted.
    pub fn not(&mut self, x: Value) -> Option<Value> {
        match x.kind {
            Kind::Mask(0) => self.unary(Unary::Not, x, x.kind),
            Kind::Mask(size) => {
                let kind = Kind::signed(size);
                let ones = self.constant(kind, u64::MAX)?;
                let inverted = self.binary(Binary::Xor, Value { kind, ..x }, ones)?;
                Some(Value { kind: x.kind, ..inverted })
            }
            kind => {
                let ones = self.constant(kind, u64::MAX)?;
                self.binary(Binary::Xor, x, ones)
            }
        }
    }
    /// Integers moved up by as many places as each lane says; 0 where these are negative or too many.
    pub fn left(&mut self, x: Value, places: Value) -> Option<Value> {
        self.shift(Binary::Left, x, places)
    }
    /// Integers moved down by as many places as each lane says, with copies of the sign; only the sign is left where these are
    /// negative or too many.
    pub fn right(&mut self, x: Value, places: Value) -> Option<Value> {
        if !x.kind.is_signed() {
            return self.shift(Binary::Right, x, places);
        }
        if x.kind == Kind::I64 && self.level == Level::Avx2 {
            // Of a negative number, the complement is moved.
            let (kind, zero) = (x.kind, self.constant(x.kind, 0)?);
            let negative = self.less(x, zero)?;
            let sign = Value { kind, ..negative };
            let moved = self.binary(Binary::Xor, x, sign)?;
            let moved = self.shift(Binary::Right, moved, places)?;
            return self.binary(Binary::Xor, moved, sign);
        }
        self.shift(Binary::RightSigned, x, places)
    }
    fn shift(&mut self, op: Binary, x: Value, places: Value) -> Option<Value> {
        let has = match x.kind.size() {
            1 => false,
            2 => self.level == Level::Avx512,
            _ => true,
        };
        has.then(|| self.binary(op, x, places))?
    }

    /// Whether two are equal; not where either is NaN.
    pub fn equal(&mut self, x: Value, y: Value) -> Option<Value> {
        if x.kind.is_mask() {
            let differ = self.xor(x, y)?;
            return self.not(differ);
        }
        self.compared(Binary::Equal, x, y)
    }
    /// Whether the first is smaller; not where either is NaN.
    pub fn less(&mut self, x: Value, y: Value) -> Option<Value> {
        if self.compares(x.kind) {
            return self.compared(Binary::Less, x, y);
        }
        let [x, y] = [self.ordered(x)?, self.ordered(y)?];
        self.compared(Binary::Less, x, y)
    }
    /// Whether the first is not larger; not where either is NaN.
    pub fn less_equal(&mut self, x: Value, y: Value) -> Option<Value> {
        if self.has_masks() || x.kind.is_float() {
            return self.compared(Binary::LessEqual, x, y);
        }
        let greater = self.less(y, x)?;
        self.not(greater)
    }
    /// Whether the level compares numbers of a kind as they are.
    fn compares(&self, kind: Kind) -> bool {
        self.has_masks() || kind.is_float() || kind.is_signed()
    }
    /// An integer with a sign, in the order of one without.
    fn ordered(&mut self, x: Value) -> Option<Value> {
        let sign = self.sign(x.kind)?;
        let moved = self.binary(Binary::Xor, x, sign)?;
        Some(Value { kind: Kind::signed(x.kind.size()), ..moved })
    }
    /// Whether a number is other than 0.
    pub fn test(&mut self, x: Value) -> Option<Value> {
        let zero = self.constant(x.kind, 0)?;
        let equal = self.equal(x, zero)?;
        self.not(equal)
    }
    /// 1 where a mask is true, else 0, as bytes.
    pub fn bytes(&mut self, mask: Value) -> Option<Value> {
        let mask = self.mask_as(mask, 1)?;
        self.unary(Unary::Ones, mask, Kind::U8)
    }
    /// The first where the mask is true, else the second.
    pub fn select(&mut self, mask: Value, yes: Value, no: Value) -> Option<Value> {
        if yes.kind.is_mask() {
            let [yes, no] = self.alike(yes, no)?;
            let mask = self.mask_as(mask, yes.kind.size())?;
            let differ = self.binary(Binary::Xor, yes, no)?;
            let differ = self.binary(Binary::And, mask, differ)?;
            return self.binary(Binary::Xor, no, differ);
        }
        let mask = self.mask_as(mask, yes.kind.size())?;
        self.node(Node::Select(mask, yes, no), yes.kind)
    }

    /// A mask of lanes of so many bytes.
    fn mask_as(&mut self, mask: Value, size: u8) -> Option<Value> {
        let from = mask.kind.size();
        if self.has_masks() || from == size {
            return Some(mask);
        }
        let bits = Value { kind: Kind::signed(from), ..mask };
        let other = self.unary(Unary::Convert, bits, Kind::signed(size))?;
        Some(Value { kind: Kind::Mask(size), ..other })
    }
    /// Two masks of the same lanes; what is no mask as it is.
    fn alike(&mut self, x: Value, y: Value) -> Option<[Value; 2]> {
        match (x.kind, y.kind) {
            (Kind::Mask(_), Kind::Mask(size)) => Some([self.mask_as(x, size)?, y]),
            _ => Some([x, y]),
        }
    }
}
