//! Closures over arrays: over the algebra, which are recorded as operators are, and over plain elements, on the host.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

use super::{Array, BitsElement, FieldElement, IntElement, NumElement, demand};
use crate::array::elementwise::interim;
use crate::array::{ArrayOrScalar, UsmArray, broadcast_arrays};
use crate::dtype::Element;
use crate::error::{Error, Result};
use crate::layout::{Order, broadcast_shapes};
use crate::memory::heap;
use crate::ops::Op;
use crate::scalar::Scalar;

/// What the operations of a closure are recorded on: their results, of which the first are the arrays that it is called with.
struct Tape {
    nodes: RefCell<Vec<UsmArray>>,
    failure: Cell<Option<Error>>,
}

impl Tape {
    fn push(&self, op: Op, operands: &[Place]) -> usize {
        let recorded = {
            let nodes = self.nodes.borrow();
            let operands: smallvec::SmallVec<[ArrayOrScalar<'_>; 3]> = operands
                .iter()
                .map(|place| match place {
                    Place::Node(number) => ArrayOrScalar::Array(&nodes[*number]),
                    Place::Value(value) => ArrayOrScalar::Scalar(*value),
                })
                .collect();
            interim(op, &operands)
        };
        self.keep(recorded)
    }

    /// The number of a result. After a failure there are none, and the first one is what the closure is said to come to.
    fn keep(&self, recorded: Result<UsmArray>) -> usize {
        let mut nodes = self.nodes.borrow_mut();
        let first = self.failure.take();
        let pushed = match recorded {
            Ok(array) if first.is_none() => heap::push("steps of a closure", &mut nodes, array),
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        self.failure.set(first.or(pushed.err()));
        nodes.len() - 1
    }
}

/// An operand on the tape.
#[derive(Clone, Copy)]
enum Place {
    Node(usize),
    Value(Scalar),
}

/// An element of an array in a closure that [`Array::map`] records: what operators and functions of arrays are for arrays, its own are
/// for each element. It is copied freely. It has no value that `if` could ask for: conditions are [`where_`](Item::where_).
pub struct Item<'t, T: Element> {
    tape: &'t Tape,
    node: usize,
    element: PhantomData<T>,
}

impl<T: Element> Clone for Item<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: Element> Copy for Item<'_, T> {}

/// An operand beside an [`Item`]: another one, or a value.
#[derive(Clone, Copy)]
pub enum ItemOrValue<'t, T: Element> {
    /// An element.
    Item(Item<'t, T>),
    /// A value.
    Value(T),
}

impl<'t, T: Element> From<Item<'t, T>> for ItemOrValue<'t, T> {
    fn from(item: Item<'t, T>) -> Self {
        Self::Item(item)
    }
}
impl<T: Element> From<T> for ItemOrValue<'_, T> {
    fn from(value: T) -> Self {
        Self::Value(value)
    }
}

impl<T: Element> ItemOrValue<'_, T> {
    fn place(self) -> Place {
        match self {
            Self::Item(item) => Place::Node(item.node),
            Self::Value(value) => Place::Value(value.to_scalar()),
        }
    }
}

impl<'t, T: Element> Item<'t, T> {
    /// An operation with this element as the first operand.
    pub(super) fn step<U: Element, const N: usize>(
        self,
        op: Op,
        others: [ItemOrValue<'t, T>; N],
    ) -> Item<'t, U> {
        let mut operands = smallvec::SmallVec::<[Place; 3]>::new();
        operands.push(Place::Node(self.node));
        operands.extend(others.into_iter().map(ItemOrValue::place));
        Item { tape: self.tape, node: self.tape.push(op, &operands), element: PhantomData }
    }

    /// The element converted to another type; see [`Array::astype`].
    #[must_use]
    pub fn astype<U: Element>(self) -> Item<'t, U> {
        let converted = self.tape.nodes.borrow()[self.node].astype_step(U::DTYPE);
        Item { tape: self.tape, node: self.tape.keep(converted), element: PhantomData }
    }
}

impl<'t> Item<'t, bool> {
    /// `yes` where this is true, else `no`.
    #[must_use]
    pub fn where_<U: Element>(
        self,
        yes: impl Into<ItemOrValue<'t, U>>,
        no: impl Into<ItemOrValue<'t, U>>,
    ) -> Item<'t, U> {
        let operands = [Place::Node(self.node), yes.into().place(), no.into().place()];
        Item { tape: self.tape, node: self.tape.push(Op::Where, &operands), element: PhantomData }
    }
}

macro_rules! operators {
    ($($Class:ident $Trait:ident $name:ident $Op:ident [$($ty:ty)*];)*) => {$(
        impl<'t, T: $Class, R: Into<ItemOrValue<'t, T>>> $Trait<R> for Item<'t, T> {
            type Output = Self;
            fn $name(self, other: R) -> Self {
                self.step(Op::$Op, [other.into()])
            }
        }
        $(
            impl<'t> $Trait<Item<'t, $ty>> for $ty {
                type Output = Item<'t, $ty>;
                fn $name(self, other: Item<'t, $ty>) -> Item<'t, $ty> {
                    let operands = [Place::Value(self.to_scalar()), Place::Node(other.node)];
                    Item { tape: other.tape, node: other.tape.push(Op::$Op, &operands), element: PhantomData }
                }
            }
        )*
    )*};
}
operators! {
    NumElement Add add Add [f32 f64 i8 i16 i32 i64 u8 u16 u32 u64];
    NumElement Sub sub Subtract [f32 f64 i8 i16 i32 i64 u8 u16 u32 u64];
    NumElement Mul mul Multiply [f32 f64 i8 i16 i32 i64 u8 u16 u32 u64];
    FieldElement Div div Divide [f32 f64];
    BitsElement BitAnd bitand BitwiseAnd [];
    BitsElement BitOr bitor BitwiseOr [];
    BitsElement BitXor bitxor BitwiseXor [];
    IntElement Shl shl BitwiseLeftShift [];
    IntElement Shr shr BitwiseRightShift [];
}

impl<T: NumElement> Neg for Item<'_, T> {
    type Output = Self;
    fn neg(self) -> Self {
        self.step(Op::Negative, [])
    }
}
impl<T: BitsElement> Not for Item<'_, T> {
    type Output = Self;
    fn not(self) -> Self {
        self.step(Op::BitwiseInvert, [])
    }
}

/// Calls a closure with the elements of arrays, and gives what it has recorded.
fn recorded<U: Element, const N: usize>(
    arrays: [UsmArray; N],
    call: impl for<'t> FnOnce(&'t [&'t Tape; 1]) -> usize,
) -> Result<Array<U>> {
    let mut nodes = heap::with_capacity("steps of a closure", N + 8)?;
    nodes.extend(arrays);
    let tape = Tape { nodes: RefCell::new(nodes), failure: Cell::new(None) };
    let node = call(&[&tape]);
    if let Some(error) = tape.failure.into_inner() {
        return Err(error);
    }
    let mut nodes = tape.nodes.into_inner();
    if node < N {
        return nodes.swap_remove(node).copy()?.try_into();
    }
    // Alone, so that the steps before it are nobody's, and are computed in its pass.
    let result = nodes.swap_remove(node);
    drop(nodes);
    result.try_into()
}

impl<T: Element> Array<T> {
    /// What a closure makes of each element, recorded: its operators and functions are those of arrays, and are computed on the array's
    /// device, in one pass with whatever the result is for.
    ///
    /// ```no_run
    /// # use stridewise_core::array;
    /// let x = array![-1.0, 0.0, 4.0];
    /// let y = x.map(|x| x.less(0.0).where_(0.0, x.sqrt() + 2.0 * x));
    /// # Ok::<(), stridewise_core::Error>(())
    /// ```
    ///
    /// The closure is called once, and its elements have no values yet: in place of `if x > 0.0 { … } else { … }`, which does not
    /// compile, stands `x.greater(0.0).where_(…, …)`. What asks for values as Rust has them is
    /// [`map_elements`](Self::map_elements).
    ///
    /// # Panics
    /// As operators do; [`try_map`](Self::try_map) does not.
    #[must_use]
    #[track_caller]
    pub fn map<U: Element>(&self, f: impl for<'t> FnOnce(Item<'t, T>) -> Item<'t, U>) -> Array<U> {
        demand(self.try_map(f))
    }

    /// What a closure makes of each element, recorded; see [`map`](Self::map).
    ///
    /// # Errors
    /// As for [`elementwise`](crate::elementwise).
    pub fn try_map<U: Element>(
        &self,
        f: impl for<'t> FnOnce(Item<'t, T>) -> Item<'t, U>,
    ) -> Result<Array<U>> {
        recorded([self.inner.clone()], |&[tape]| f(Item { tape, node: 0, element: PhantomData }).node)
    }

    /// What a closure makes of the elements of two arrays, which are broadcast, recorded; see [`map`](Self::map).
    ///
    /// # Panics
    /// As operators do; [`try_zip_map`](Self::try_zip_map) does not.
    #[must_use]
    #[track_caller]
    pub fn zip_map<V: Element, U: Element>(
        &self,
        other: &Array<V>,
        f: impl for<'t> FnOnce(Item<'t, T>, Item<'t, V>) -> Item<'t, U>,
    ) -> Array<U> {
        demand(self.try_zip_map(other, f))
    }

    /// What a closure makes of the elements of two arrays, which are broadcast, recorded; see [`map`](Self::map).
    ///
    /// # Errors
    /// As for [`elementwise`](crate::elementwise).
    pub fn try_zip_map<V: Element, U: Element>(
        &self,
        other: &Array<V>,
        f: impl for<'t> FnOnce(Item<'t, T>, Item<'t, V>) -> Item<'t, U>,
    ) -> Result<Array<U>> {
        crate::runtime::common_queue(&[("x1", self.queue()), ("x2", other.queue())])?;
        let all = broadcast_arrays(&[&self.inner, &other.inner])?;
        recorded([all[0].clone(), all[1].clone()], |&[tape]| {
            f(Item { tape, node: 0, element: PhantomData }, Item { tape, node: 1, element: PhantomData }).node
        })
    }

    /// What a closure of Rust makes of each element, in row-major order, on the thread that calls: the elements are read on the host,
    /// and the result is in memory of the same kind. For what the algebra has no operation; else [`map`](Self::map) is faster.
    ///
    /// # Errors
    /// [`Error::HostAccess`] for device memory, [`Error::Borrow`] while a view for writing is open, [`Error::Alloc`]; the failure of
    /// the work that computes the elements.
    pub fn map_elements<U: Element>(&self, mut f: impl FnMut(T) -> U) -> Result<Array<U>> {
        let view = self.view()?;
        let values = heap::collect("elements", view.iter().map(|&x| f(x)))?;
        drop(view);
        UsmArray::from_slice(self.queue(), self.shape(), &values, self.usm_kind())?.try_into()
    }

    /// What a closure of Rust makes of the elements of two arrays, which are broadcast; see [`map_elements`](Self::map_elements).
    ///
    /// # Errors
    /// As for [`map_elements`](Self::map_elements); [`Error::Shape`] where the shapes do not broadcast.
    pub fn zip_elements<V: Element, U: Element>(
        &self,
        other: &Array<V>,
        mut f: impl FnMut(T, V) -> U,
    ) -> Result<Array<U>> {
        let shape = broadcast_shapes(&[self.shape(), other.shape()])?;
        let (x, y) = (self.broadcast_to(&shape)?, other.broadcast_to(&shape)?);
        let (first, second) = (x.view()?, y.view()?);
        let values = heap::collect("elements", first.iter().zip(second.iter()).map(|(&x, &y)| f(x, y)))?;
        drop((first, second));
        UsmArray::from_slice(self.queue(), &shape, &values, self.usm_kind().combine(other.usm_kind()))?
            .try_into()
    }

    /// Puts what a closure of Rust makes of each element in its place, in row-major order.
    ///
    /// # Errors
    /// As for [`view_mut`](Self::view_mut).
    pub fn update_elements(&mut self, mut f: impl FnMut(T) -> T) -> Result<()> {
        self.view_mut()?.for_each_mut(|x| *x = f(*x));
        Ok(())
    }

    /// Writes the element at a multi-index, one number per dimension; negative ones count from the end.
    ///
    /// # Errors
    /// As for [`get`](Self::get); [`Error::Borrow`] where the array is read-only.
    pub fn set(&mut self, index: impl super::Extents, value: T) -> Result<()> {
        let items = self.element_at(&index.numbers())?;
        self.inner.slice(&items)?.assign(value.to_scalar())?;
        Ok(())
    }

    /// The elements contiguous in an order: this array where it is, else a copy.
    ///
    /// # Errors
    /// [`Error::Alloc`] where there is no memory.
    pub fn in_order(&self, order: Order) -> Result<Self> {
        self.inner.in_order(order)?.try_into()
    }
}
