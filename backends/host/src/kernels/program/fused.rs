//! Steps that are done in one pass: an operation of one instruction, and the next one, of one instruction, too, or a function
//! that often follows, which alone needs its result.
//!
//! The first result is rounded before it goes on, as it is by a step of its own, but it does not go through a tile: of the
//! six loads and stores of two steps of two operands, four remain, and a division or a root, which takes as long as
//! several of these, is computed meanwhile.
//!
//! Where there is a compiler of programs ([`native`](crate::kernels::native)), it does what steps of one instruction do, and only pairs
//! with a function are left (`COMPILED`); the others stay for processors and systems that it has no code for.
//!
//! Pairs are looked for when a plan is compiled; a program does not know of them. A missing pair is a silent
//! loss; each costs about 17 KB of code at all levels together and is tested for equal bits
//! (`tests/fused.rs`). When code size is worked on, one that no row of the benchmark needs can go.
//!
//! Measured by two threads (machine not recorded), in turns: loops of 64 Ki 20.0 to 22.7 became 17.8 to
//! 18.8 µs, 1 Mi 257 to 317 became 217 to 222; 12.59 MB of code became 13.01. `sqrt(a*a+b*b)*c-d` of 1 Mi
//! `float32` 0.88 to 0.93 of the time, 64 Ki 0.92, even at 16 Mi; all pairs together 0.7 to 0.9 of the time
//! with only products and sums joined. The sigmoid, by the exponential of a negative, 0.94 (64 Ki), 0.81
//! (1 Mi) and 0.85 (16 Mi). Why they stay beside compiled programs: of the 30 pairs here, a library with the compiler has that one alone,
//! four functions for two dtypes and two levels, and without it a sigmoid takes longer. Its time over that of `0 - x` instead
//! of `-x`, which pairs with nothing, in turns, one thread of a Xeon, at 16 Ki, 128 Ki, 1 Mi and 8 Mi: `float32` 0.97, 0.89, 0.85, 0.87,
//! `float64` 0.92, 0.90, 0.96, 0.84; the exponential alone 0.93, 0.74, 0.72, 0.71, and 0.88, 0.84, 0.79, 0.76. The others are for
//! processors that the compiler has no code for. When exponentials are computed by compiled programs, this one can go. Tried without gain: exponentials of differences and of products, the root with
//! what follows it.

use std::marker::PhantomData;

use smallvec::SmallVec;
use stridewise_core::ops::{Float, define};
use stridewise_core::{
    Dtype, Op,
    backend::{Arg, MAX_STEPS, Program, ProgramStep},
};

use crate::kernels::elementwise::map::{ByAnalytic, ByField, ByNum, ByPart, LaneFn, LaneFunction};
use crate::kernels::elementwise::step::{Resolved, resolve};
use crate::kernels::entry::{StepFn, WideKernel, has_pairs, pair_entry};
use crate::simd::{Isa, Lane};

/// Whether steps of one instruction are joined by the compiler of programs, so that no pairs of them are in the library.
pub(crate) const COMPILED: bool = cfg!(all(feature = "native", target_arch = "x86_64", unix));

type Abs = ByPart<define::Abs>;
type Add = ByNum<define::Add>;
type Divide = ByField<define::Divide>;
type Exp = ByAnalytic<define::Exp>;
type Multiply = ByNum<define::Multiply>;
type Negative = ByNum<define::Negative>;
type Reciprocal = ByField<define::Reciprocal>;
type Sqrt = ByAnalytic<define::Sqrt>;
type Square = ByNum<define::Square>;
type Subtract = ByNum<define::Subtract>;

/// `G(F(x, y), z)`.
struct First<F, G>(PhantomData<(F, G)>);
impl<F: LaneFn<2>, G: LaneFn<2>> LaneFn<3> for First<F, G> {
    #[inline(always)]
    fn f<V: Float>([x, y, z]: [V; 3]) -> V {
        G::f([F::f([x, y]), z])
    }
}

/// `G(z, F(x, y))`.
struct Second<F, G>(PhantomData<(F, G)>);
impl<F: LaneFn<2>, G: LaneFn<2>> LaneFn<3> for Second<F, G> {
    #[inline(always)]
    fn f<V: Float>([x, y, z]: [V; 3]) -> V {
        G::f([z, F::f([x, y])])
    }
}

/// `G(F(x, x), F(y, y))`.
struct Squares<F, G>(PhantomData<(F, G)>);
impl<F: LaneFn<2>, G: LaneFn<2>> LaneFn<2> for Squares<F, G> {
    #[inline(always)]
    fn f<V: Float>([x, y]: [V; 2]) -> V {
        G::f([F::f([x, x]), F::f([y, y])])
    }
}

/// `G(F(x, y))`.
struct Only<F, G>(PhantomData<(F, G)>);
impl<F: LaneFn<2>, G: LaneFn<1>> LaneFn<2> for Only<F, G> {
    #[inline(always)]
    fn f<V: Float>(x: [V; 2]) -> V {
        G::f([F::f(x)])
    }
}

/// `G(F(x))`.
struct Alone<F, G>(PhantomData<(F, G)>);
impl<F: LaneFn<1>, G: LaneFn<1>> LaneFn<1> for Alone<F, G> {
    #[inline(always)]
    fn f<V: Float>(x: [V; 1]) -> V {
        G::f([F::f(x)])
    }
}

/// The root of what other steps give.
struct Root<W>(PhantomData<W>);
impl<W: LaneFn<K>, const K: usize> LaneFn<K> for Root<W> {
    #[inline(always)]
    fn f<V: Float>(x: [V; K]) -> V {
        Sqrt::f([W::f(x)])
    }
}

/// Which operand of the second step the first one's result is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Position {
    First,
    Second,
    /// The first one, where the second one is such a result, too, of one operand with itself.
    Squares,
    /// The only one, where the first step has two.
    Only,
    /// The only one, where the first step has one.
    Alone,
}

/// Two steps that are done in one pass, and perhaps the root of their result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Pair {
    position: Position,
    first: Op,
    second: Op,
    root: bool,
}

macro_rules! pairs {
    (
        { $($position:ident $first:ident: $($second:ident)*;)* }
        functions { $($outer:ident $inside:ident: $($function:ident)*;)* }
        root { $($inner:ident $product:ident: $($sum:ident)*;)* }
    ) => {
        impl Pair {
            /// Whether there is a function for it.
            fn exists(self) -> bool {
                match (self.position, self.first, self.second, self.root) {
                    $((Position::$position, Op::$first, $(Op::$second)|*, false) => !COMPILED,)*
                    $((Position::$outer, Op::$inside, $(Op::$function)|*, false) => true,)*
                    $((Position::$inner, Op::$product, $(Op::$sum)|*, true) => !COMPILED,)*
                    _ => false,
                }
            }

            /// The function.
            fn resolve(self, isa: Isa, dtype: Dtype) -> Option<Resolved> {
                match (self.position, self.first, self.second, self.root) {
                    $($((Position::$position, Op::$first, Op::$second, false) => {
                        lanes::<$position<$first, $second>, _>(isa, dtype)
                    })*)*
                    $($((Position::$outer, Op::$inside, Op::$function, false) => {
                        function::<$outer<$inside, $function>, _>(isa, dtype)
                    })*)*
                    $($((Position::$inner, Op::$product, Op::$sum, true) => {
                        lanes::<Root<$inner<$product, $sum>>, _>(isa, dtype)
                    })*)*
                    _ => None,
                }
            }
        }
    };
}
// A result that is the second operand of a sum or a product counts as the first one.
pairs! {
    {
        First Add: Add Subtract Multiply Divide;
        First Subtract: Add Subtract Multiply Divide;
        First Multiply: Add Subtract Multiply Divide;
        Second Add: Subtract Divide;
        Second Subtract: Subtract Divide;
        Second Multiply: Subtract Divide;
        Squares Multiply: Add Subtract;
        Only Add: Sqrt Reciprocal;
        Only Subtract: Square Abs;
    }
    functions {
        Alone Negative: Exp;
    }
    root {
        First Multiply: Add Subtract;
        Second Multiply: Subtract;
        Squares Multiply: Add Subtract;
    }
}

#[cfg(all(feature = "native", target_arch = "x86_64", unix))]
fn lanes<W: LaneFn<K>, const K: usize>(_: Isa, _: Dtype) -> Option<Resolved> {
    None
}

#[cfg(not(all(feature = "native", target_arch = "x86_64", unix)))]
fn lanes<W: LaneFn<K>, const K: usize>(isa: Isa, dtype: Dtype) -> Option<Resolved> {
    use crate::kernels::elementwise::map::LaneMaps;
    pair_entry::<LaneMaps<W, K>>(isa, dtype).map(|run| Resolved { run, lanes: true, strided: true })
}

/// [`LaneFunction`] for every vector.
struct Functions<W, const K: usize>(PhantomData<W>);
impl<W: LaneFn<K>, const K: usize> WideKernel for Functions<W, K> {
    type Fn = StepFn;

    type At<V: Lane<Elem = T>, T: Float> = LaneFunction<V, W, K>;
}

fn function<W: LaneFn<K>, const K: usize>(isa: Isa, dtype: Dtype) -> Option<Resolved> {
    pair_entry::<Functions<W, K>>(isa, dtype).map(|run| Resolved { run, lanes: true, strided: false })
}

fn commutes(op: Op) -> bool {
    matches!(op, Op::Add | Op::Multiply)
}

/// A step of a program as it is done: lowered.
#[derive(Clone)]
pub(crate) struct Lowered<'a> {
    step: &'a ProgramStep,
    pair: Option<Pair>,
    args: SmallVec<[Arg; 3]>,
    /// Whether the step that needs its result does it.
    pub(crate) fused: bool,
    /// Whether all operands are one element for all, so that one is the result for the whole tile.
    pub(crate) once: bool,
}

impl Lowered<'_> {
    /// What is read.
    pub(crate) fn operands(&self) -> &[Arg] {
        if self.fused { &[] } else { &self.args }
    }

    /// Bytes of a result.
    pub(crate) fn size(&self) -> usize {
        self.step.out.size()
    }

    /// The function.
    pub(crate) fn resolve(&self, isa: Isa) -> Option<Resolved> {
        let ProgramStep { op, dtype, out, .. } = *self.step;
        match self.pair {
            None => resolve(op, dtype, out, isa),
            Some(pair) => pair.resolve(isa, dtype),
        }
    }
}

/// The steps of a program, of which the first `computed` are done one after another. Those that `apart` has a bit for are done
/// otherwise, and pair with none. `uniform`: whether an input is one element for all.
pub(crate) fn lowered<'a>(
    program: &'a Program,
    computed: usize,
    isa: Isa,
    apart: u32,
    uniform: impl Fn(usize) -> bool,
) -> SmallVec<[Lowered<'a>; 6]> {
    let steps = program.steps();
    let mut uses = [0_u8; MAX_STEPS];
    let args = steps.iter().flat_map(ProgramStep::operands).chain(program.outputs());
    for arg in args {
        if let Arg::Step(s) = *arg {
            uses[usize::from(s)] = uses[usize::from(s)].saturating_add(1);
        }
    }
    for (s, uses) in uses.iter_mut().enumerate() {
        // As if others needed its result.
        *uses |= if apart >> s & 1 == 1 { u8::MAX } else { 0 };
    }
    let mut lowered: SmallVec<[Lowered<'a>; 6]> = SmallVec::new();
    for (s, step) in steps.iter().enumerate() {
        let is_same = |arg: &Arg| match *arg {
            Arg::Input(i) => uniform(usize::from(i)),
            Arg::Const(_) => true,
            Arg::Step(s) => lowered[usize::from(s)].once,
        };
        let fused = if has_pairs(isa)
            && s < computed
            && apart >> s & 1 == 0
            && matches!(step.dtype, Dtype::F32 | Dtype::F64)
        {
            (0..step.operands().len()).find_map(|k| fuse(step, k, &lowered, &uses, is_same))
        } else {
            None
        };
        let once = step.operands().iter().all(is_same);
        let mut step_done = Lowered { step, pair: None, args: step.operands().into(), fused: false, once };
        if let Some(Fused { pair, parts, args }) = fused {
            parts.iter().for_each(|&part| lowered[part].fused = true);
            (step_done.pair, step_done.args) = (Some(pair), args);
        }
        lowered.push(step_done);
    }
    lowered
}

/// A step that is done together with others.
struct Fused {
    pair: Pair,
    /// The others: one or two.
    parts: SmallVec<[usize; 4]>,
    /// What all of them read.
    args: SmallVec<[Arg; 3]>,
}

/// How a step is done together with the one that its operand `k` is the result of.
fn fuse(
    step: &ProgramStep,
    k: usize,
    lowered: &[Lowered<'_>],
    uses: &[u8],
    is_same: impl Fn(&Arg) -> bool,
) -> Option<Fused> {
    let pair = |position, first| Pair { position, first, second: step.op, root: false };
    if k == 0
        && let [Some((p, x)), Some((q, y))] = [0, 1].map(|k| square(step, k, lowered, uses))
        && let pair = pair(Position::Squares, Op::Multiply)
        && pair.exists()
    {
        // Two steps: the result of one would be needed twice.
        let (parts, args) = (SmallVec::from_slice(&[p, q]), SmallVec::from_slice(&[x, y]));
        return Some(Fused { pair, parts, args });
    }
    let p = part(step, k, lowered, uses)?;
    let before = &lowered[p];
    let (pair, args) = match before.pair {
        Some(pair) if step.op == Op::Sqrt && !pair.root => (Pair { root: true, ..pair }, before.args.clone()),
        Some(_) => return None,
        None => {
            let (first, mut args) = operation(before.step);
            // Most functions have no form of their own for a first operand that is one element for all.
            if commutes(first) && is_same(&args[0]) {
                args.swap(0, 1);
            }
            let position = match *step.operands() {
                [_] if args.len() == 1 => Position::Alone,
                [_] => Position::Only,
                [_, other] if k == 0 => {
                    args.push(other);
                    Position::First
                }
                [other, _] => {
                    args.push(other);
                    if commutes(step.op) { Position::First } else { Position::Second }
                }
                _ => return None,
            };
            (pair(position, first), args)
        }
    };
    pair.exists().then(|| Fused { pair, parts: SmallVec::from_slice(&[p]), args })
}

/// The step that a step's operand `k` is the result of, where nothing else needs that and it is of the same kind.
fn part(step: &ProgramStep, k: usize, lowered: &[Lowered<'_>], uses: &[u8]) -> Option<usize> {
    let &Arg::Step(p) = step.operands().get(k)? else { return None };
    let p = usize::from(p);
    (uses[p] == 1 && !lowered[p].once && lowered[p].step.dtype == step.dtype).then_some(p)
}

/// As [`part`], where that step is the product of something with itself; and this.
fn square(step: &ProgramStep, k: usize, lowered: &[Lowered<'_>], uses: &[u8]) -> Option<(usize, Arg)> {
    let p = part(step, k, lowered, uses).filter(|&p| lowered[p].pair.is_none())?;
    match operation(lowered[p].step) {
        (Op::Multiply, args) if args[0] == args[1] => Some((p, args[0])),
        _ => None,
    }
}

/// What a step does, and to what, with squares as products.
fn operation(step: &ProgramStep) -> (Op, SmallVec<[Arg; 3]>) {
    match (step.op, step.operands()) {
        (Op::Square, &[x]) => (Op::Multiply, SmallVec::from_slice(&[x, x])),
        (op, operands) => (op, SmallVec::from_slice(operands)),
    }
}
