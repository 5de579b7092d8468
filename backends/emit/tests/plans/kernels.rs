//! Kernels as users write them: every construct, with groups that are whole and that are not, along few axes and along many.

use stridewise_core::kernel::{
    AtomicOp, Collective, Coordinate, Fence, Kernel, KernelArgument, KernelBuilder, KernelLaunch, Level,
    MemoryOrder, MemoryScope, NdRange, Parameter, Space,
};
use stridewise_core::memory::UsmPtr;
use stridewise_core::{Dtype, DtypeKind, Op, Result, Scalar};
use stridewise_emit::{Target, user};

const RELAXED: (MemoryOrder, MemoryScope) = (MemoryOrder::Relaxed, MemoryScope::Device);
const ORDERED: (MemoryOrder, MemoryScope) = (MemoryOrder::AcqRel, MemoryScope::Device);

/// Elements of a dtype: local, private and constant arrays, branches, loops, calls.
fn memory(dtype: Dtype) -> Result<Kernel> {
    let mut k = KernelBuilder::new("memory", 2)?;
    let from = k.global("from", dtype, 2, false)?;
    let to = k.global("to", dtype, 2, true)?;
    let factor = k.scalar("factor", dtype)?;
    let shared = k.local("shared", dtype, &[16, 16])?;
    let given = k.local_argument("given", dtype, 1)?;
    let own = k.private("own", dtype, &[3])?;
    let values: Vec<Scalar> = (0..5).map(|i| Scalar::I8(i).cast(dtype)).collect();
    let table = k.constant_array("table", &[5], &values)?;
    let best = k.variable("best", dtype)?;
    let (y, x) = (k.index(Level::Global, Coordinate::Id(0))?, k.index(Level::Global, Coordinate::Id(1))?);
    let (b, a) = (k.index(Level::Local, Coordinate::Id(0))?, k.index(Level::Local, Coordinate::Id(1))?);
    let value = k.load(from, [y, x])?;
    k.store(shared, [b, a], value)?;
    k.store(given, [a], factor)?;
    k.barrier(Fence::LOCAL);
    let turned = k.load(shared, [a, b])?;
    let other = k.load(given, [b])?;
    k.store(own, [1], other)?;
    k.set(best, turned)?;
    let number = k.for_(0, x, 3)?;
    let place = k.binary(Op::Remainder, number, 5)?;
    let constant = k.load(table, [place])?;
    let same = k.binary(Op::Equal, constant, turned)?;
    k.if_(same)?;
    k.set(best, constant)?;
    k.break_();
    k.end()?;
    k.end()?;
    let mine = k.load(own, [1])?;
    let same = k.binary(Op::NotEqual, mine, best)?;
    k.assert(same, "they differ")?;
    k.store(to, [y, x], best)?;
    k.finish()
}

/// Collectives and atomics of a dtype.
fn together(dtype: Dtype) -> Result<Kernel> {
    let mut k = KernelBuilder::new("together", 1)?;
    let from = k.global("from", dtype, 1, false)?;
    let to = k.global("to", dtype, 1, true)?;
    let bins = k.local("bins", dtype, &[64])?;
    let i = k.index(Level::Global, Coordinate::LinearId)?;
    let lane = k.index(Level::Local, Coordinate::LinearId)?;
    let x = k.load(from, [i])?;
    let real = !matches!(dtype.kind(), DtypeKind::Complex | DtypeKind::Bool);
    if real {
        for op in [Op::Add, Op::Minimum, Op::Maximum] {
            let all = k.collective(Collective::Reduce(op), x)?;
            k.store(to, [i], all)?;
            let before = k.collective(Collective::InclusiveScan(op), all)?;
            k.store(to, [lane], before)?;
        }
    }
    let first = k.collective(Collective::Broadcast(i), x)?;
    k.store(to, [i], first)?;
    if real && dtype.size() >= 4 {
        let mut ops =
            vec![AtomicOp::Add, AtomicOp::Subtract, AtomicOp::Minimum, AtomicOp::Maximum, AtomicOp::Exchange];
        if dtype.kind().is_integer() {
            ops.extend([AtomicOp::And, AtomicOp::Or, AtomicOp::Xor]);
        }
        for op in ops {
            k.atomic(op, bins, [lane], Some(x.into()), RELAXED)?;
            k.atomic(op, to, [lane], Some(x.into()), ORDERED)?;
        }
        let seen = k.atomic(AtomicOp::Load, to, [0], None, ORDERED)?;
        k.atomic(AtomicOp::CompareExchange { expected: seen }, to, [0], Some(x.into()), ORDERED)?;
        k.atomic(AtomicOp::Store, bins, [lane], Some(x.into()), RELAXED)?;
    }
    k.fence(MemoryOrder::SeqCst, MemoryScope::Device);
    k.finish()
}

/// Three axes, and all that an item knows of its place.
fn places() -> Result<Kernel> {
    let mut k = KernelBuilder::new("places", 3)?;
    let to = k.global("to", Dtype::I64, 1, true)?;
    let sum = k.variable("sum", Dtype::I64)?;
    k.set(sum, 0)?;
    for level in [Level::Global, Level::Local, Level::Group] {
        for axis in 0..3 {
            for coordinate in [Coordinate::Id(axis), Coordinate::Range(axis)] {
                let number = k.index(level, coordinate)?;
                let all = k.binary(Op::Add, sum, number)?;
                k.set(sum, all)?;
            }
        }
    }
    let i = k.index(Level::Global, Coordinate::LinearId)?;
    k.store(to, [i], sum)?;
    k.finish()
}

fn launch(kernel: Kernel, range: &NdRange) -> KernelLaunch {
    let space = Space::new(&kernel, range, 1024, u64::MAX).expect("a space");
    let form = kernel.form();
    let argument = |parameter: &Parameter| match parameter {
        Parameter::Scalar { value, .. } => KernelArgument::Scalar(Scalar::I8(1).cast(form.dtype(*value))),
        Parameter::Object(object) => {
            let ndim = form.object(*object).memory.ndim();
            if form.object(*object).memory.is_local() {
                return KernelArgument::Local((0..ndim).map(|_| 64).collect());
            }
            KernelArgument::Array {
                ptr: UsmPtr::new(std::ptr::without_provenance_mut(1 << 20)),
                shape: (0..ndim).map(|_| 1000).collect(),
                strides: (0..ndim).rev().map(|d| 1000_isize.pow(d as u32)).collect(),
            }
        }
    };
    let arguments = form.parameters.iter().map(argument).collect();
    KernelLaunch { kernel, space, arguments, checked: false, time_limit: None, ends: false }
}

/// The texts of all, with names.
pub(crate) fn texts(target: &Target) -> Vec<(String, String)> {
    let mut launches = Vec::new();
    for &dtype in Dtype::ALL {
        let range = NdRange::in_groups(&[100, 90], &[16, 16]).partial();
        launches.push((format!("memory-{dtype}"), launch(memory(dtype).expect("a kernel"), &range)));
        let range = NdRange::in_groups(&[4000], &[512]).partial();
        launches.push((format!("together-{dtype}"), launch(together(dtype).expect("a kernel"), &range)));
    }
    for (name, global, group) in [
        ("few", [3, 4, 64], [1, 2, 32]),
        ("deep", [384, 4, 4], [128, 2, 2]),
        ("tall", [1, 1 << 20, 3], [1, 1, 3]),
    ] {
        launches.push((
            format!("places-{name}"),
            launch(places().expect("a kernel"), &NdRange::in_groups(&global, &group)),
        ));
    }
    let text = |(name, launch): &(String, KernelLaunch)| {
        let work = user::work(launch, target).unwrap_or_else(|error| panic!("{name}: {error}"));
        (name.clone(), (work.call().source)())
    };
    launches.iter().map(text).collect()
}
