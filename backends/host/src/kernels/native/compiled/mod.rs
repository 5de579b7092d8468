//! The compiler, the functions that it made, and what decides for it.

mod cache;
pub(crate) mod perf;
#[cfg(test)]
mod tests;
pub(crate) mod trace;

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use smallvec::SmallVec;
use stridewise_core::backend::{Arg, Finding, MAX_STEPS, Program, ProgramStep};
use stridewise_core::{Dtype, Op};
use stridewise_native::{Builder, Code, LEAST_STREAMED, Level, Refused, Value, compile};

use super::super::moving::space::Access;
use super::{Asked, MOST_OPERANDS, NATIVE_VARIABLE, PERF_VARIABLE, Stretch};
use crate::simd::Isa;
use cache::{Key, Switch};

/// What the compiler of kernels has in common with that of programs.
pub(crate) mod compiler {
    #[cfg(test)]
    pub(crate) use super::cache::forced;
    pub(crate) use super::cache::{Switch, is_refused, refuse, switch};
    pub(crate) use super::{level_of_kernels, perf, trace};
}

/// By how many picoseconds a step takes less for an element, where it is compiled; and how many of them pay for what takes half as long to
/// compile.
const SAVED_PS: usize = 40;
const COMPILE_PS: usize = 40_000_000;

/// The functions of a stretch.
#[derive(Clone)]
pub(in super::super) struct Function {
    plain: Arc<Code>,
    /// That which stores past the caches, where the plan does.
    stream: Option<Arc<Code>>,
}

impl Function {
    /// Has results go to the caches, whatever the plan does.
    pub(in super::super) fn keep_near(&mut self) {
        self.stream = None;
    }

    /// # Safety
    /// As for [`Called::run`]; the last operands, of these sizes, are written.
    pub(super) unsafe fn run(&self, operands: &[*mut u8], sizes: &[u8], len: usize) {
        let whole = || {
            // Elements before one from which on all that is written is aligned to vectors.
            let stream = self.stream.as_deref()?;
            let lanes = stream.lanes();
            let written = operands[operands.len() - sizes.len()..].iter().zip(sizes);
            let mut heads = written.filter_map(|(at, &size)| {
                let (size, vector) = (usize::from(size), lanes * usize::from(size));
                // Of less, there are no such stores.
                (vector >= LEAST_STREAMED).then(|| (at.addr().wrapping_neg() % vector, size))
            });
            let (bytes, size) = heads.next()?;
            let head = bytes / size;
            let fits =
                bytes % size == 0 && heads.all(|(bytes, size)| bytes == head * size) && head + lanes <= len;
            fits.then_some((stream, head))
        };
        // SAFETY: the operands are `len` elements each, or one for all, as the function was compiled for;
        // `head` is below `len`, and what is written is aligned behind the head.
        unsafe {
            let Some((stream, head)) = whole() else { return self.plain.run(operands, 0..len) };
            if head > 0 {
                self.plain.run(operands, 0..head);
            }
            stream.run(operands, head..len);
        }
    }
}

/// Whether processors that have AVX-512 run code of it, where the environment does not say so, rather than that of AVX2, which they
/// have, too: programs, and kernels.
const WIDE: bool = cfg!(test);
const WIDE_KERNELS: bool = true;

/// As the compiler names a level; it has none of the lowest.
fn level_of(isa: Isa, wide: bool) -> Option<Level> {
    match isa {
        Isa::Scalar => None,
        Isa::Avx512 if cache::is_wide().unwrap_or(wide) => Some(Level::Avx512),
        Isa::Avx2 | Isa::Avx512 => Some(Level::Avx2),
    }
}

/// The level that programs are compiled to.
fn level(isa: Isa) -> Option<Level> {
    level_of(isa, WIDE)
}

/// The level that kernels are compiled to.
pub(crate) fn level_of_kernels(isa: Isa) -> Option<Level> {
    level_of(isa, WIDE_KERNELS)
}

/// Whether the compiler has a step; known after the first question.
fn has(step: &ProgramStep, level: Level) -> bool {
    const DTYPES: usize = Dtype::ALL.len();
    static KNOWN: [[[AtomicU8; DTYPES]; DTYPES]; 2 * Op::ALL.len()] =
        [const { [const { [const { AtomicU8::new(0) }; DTYPES] }; DTYPES] }; 2 * Op::ALL.len()];
    let place = usize::from(step.op as u8) + if level == Level::Avx2 { 0 } else { Op::ALL.len() };
    let known = &KNOWN[place][step.dtype as usize][step.out as usize];
    match known.load(Ordering::Relaxed) {
        0 => {
            let builder = RefCell::new(Builder::new(level));
            let has = alone(&builder, step).is_some();
            known.store(if has { 2 } else { 1 }, Ordering::Relaxed);
            has
        }
        answer => answer == 2,
    }
}

/// The step of elements that are loaded.
fn alone(builder: &RefCell<Builder>, step: &ProgramStep) -> Option<Value> {
    let mut operands = SmallVec::<[Value; 3]>::new();
    for k in 0..step.operands().len() {
        let dtype = if step.op == Op::Where && k == 0 { Dtype::Bool } else { step.dtype };
        operands.push(builder.borrow_mut().load(u8::try_from(k).ok()?, trace::stored(dtype)?)?);
    }
    trace::step(builder, (step.op, step.dtype, step.out), &operands)
}

/// The stretches of a program for which there are functions.
pub(in super::super) fn stretches(asked: &Asked<'_>) -> SmallVec<[Stretch; 1]> {
    let none = SmallVec::new();
    // Of one step there is a function already.
    if asked.computed < 2 {
        return none;
    }
    let (Some(level), false) = (level(asked.isa), cache::is_refused()) else { return none };
    let switch = cache::switch();
    if switch == Switch::Off {
        return none;
    }
    let steps = asked.program.steps();
    let mut once = [false; MAX_STEPS];
    let (mut members, mut found) = (0_u32, SmallVec::<[u32; 4]>::new());
    for (s, step) in steps[..asked.computed].iter().enumerate() {
        once[s] = step.operands().iter().all(|&arg| is_uniform(arg, asked.inputs, &once));
        if once[s] {
            continue;
        }
        if has(step, level) {
            members |= 1 << s;
        } else {
            found.push(std::mem::take(&mut members));
        }
    }
    found.push(members);
    found
        .into_iter()
        .filter(|members| members.count_ones() > 1)
        .filter_map(|members| stretch(asked, level, members, &once, switch))
        .collect()
}

fn is_uniform(arg: Arg, inputs: &[Access], once: &[bool]) -> bool {
    match arg {
        Arg::Input(i) => inputs[usize::from(i)] == Access::Uniform,
        Arg::Const(_) => true,
        Arg::Step(s) => once[usize::from(s)],
    }
}

/// The stretch of some steps, where there is a function for it.
fn stretch(asked: &Asked<'_>, level: Level, members: u32, once: &[bool], switch: Switch) -> Option<Stretch> {
    let Asked { program, inputs, elements, stream, .. } = *asked;
    let steps = program.steps();
    let is_member = |s: usize| members >> s & 1 == 1;
    let mut key = Key::new();
    key.push(if level == Level::Avx2 { 0 } else { 1 });
    let (mut reads, mut writes) = (SmallVec::<[Arg; 8]>::new(), SmallVec::<[u8; 4]>::new());
    // A member's place among them.
    let mut place = [0_u8; MAX_STEPS];
    let mut count = 0_u8;
    for (s, step) in steps.iter().enumerate() {
        if !is_member(s) {
            continue;
        }
        place[s] = count;
        count += 1;
        key.extend_from_slice(&[step.op as u8, step.dtype as u8, step.out as u8]);
        for &arg in step.operands() {
            match arg {
                Arg::Step(p) if is_member(usize::from(p)) => key.push(0x80 | place[usize::from(p)]),
                _ => {
                    let number = reads.iter().position(|&known| known == arg).unwrap_or_else(|| {
                        reads.push(arg);
                        reads.len() - 1
                    });
                    let uniform = is_uniform(arg, inputs, once);
                    key.push(u8::try_from(number).ok()? << 1 & 0x7e | u8::from(uniform));
                }
            }
        }
        let needed = |arg: &Arg| *arg == Arg::Step(s as u8);
        let outside =
            |(t, other): (usize, &ProgramStep)| !is_member(t) && other.operands().iter().any(needed);
        if program.outputs().iter().any(needed) || steps.iter().enumerate().any(outside) {
            writes.push(u8::try_from(s).ok()?);
        }
    }
    if writes.is_empty() || reads.len() + writes.len() > MOST_OPERANDS {
        return None;
    }
    key.push(0xff);
    key.extend(writes.iter().map(|&s| place[usize::from(s)]));
    let saved = elements.saturating_mul(usize::from(count) * SAVED_PS);
    let at_once = switch == Switch::Always || saved > COMPILE_PS;
    let of = |stream: bool| {
        let mut key = key.clone();
        key.push(u8::from(stream));
        cache::function(key, at_once, || build(asked, level, members, once, (&reads, &writes), stream))
    };
    let plain = of(false)?;
    let function = Function { plain, stream: if stream { of(true) } else { None } };
    Some(Stretch { members, reads, writes, function })
}

fn build(
    asked: &Asked<'_>,
    level: Level,
    members: u32,
    once: &[bool],
    (reads, writes): (&[Arg], &[u8]),
    stream: bool,
) -> Result<Code, Refused> {
    let form = form(asked, level, members, once, (reads, writes)).ok_or(Refused::Size)?;
    let code = compile(&form, stream)?;
    perf::note(code.addresses(), || name(asked.program, members, level, stream));
    Ok(code)
}

/// A function's name for profilers: its steps, and what they are computed in.
fn name(program: &Program, members: u32, level: Level, stream: bool) -> String {
    let mut steps = program.steps().iter().enumerate().filter(|&(s, _)| members >> s & 1 == 1);
    let names: Vec<&str> = steps.clone().map(|(_, step)| step.op.name()).collect();
    let dtype = steps.next_back().map_or("", |(_, step)| step.dtype.name());
    let past = if stream { ",past_caches" } else { "" };
    format!("stridewise::program::{}[{dtype},{}{past}]", names.join("."), level.name())
}

/// The form of some steps: operands are what they read, then what is written.
fn form(
    asked: &Asked<'_>,
    level: Level,
    members: u32,
    once: &[bool],
    (reads, writes): (&[Arg], &[u8]),
) -> Option<Builder> {
    let Asked { program, inputs, .. } = *asked;
    let builder = RefCell::new(Builder::new(level));
    let mut values = [None; MAX_STEPS];
    for (s, step) in program.steps().iter().enumerate() {
        if members >> s & 1 == 0 {
            continue;
        }
        let mut operands = SmallVec::<[Value; 3]>::new();
        for &arg in step.operands() {
            if let Arg::Step(p) = arg
                && let Some(value) = values[usize::from(p)]
            {
                operands.push(value);
                continue;
            }
            let number = u8::try_from(reads.iter().position(|&known| known == arg)?).ok()?;
            let kind = trace::stored(program.arg_dtype(arg))?;
            let builder = &mut builder.borrow_mut();
            operands.push(match is_uniform(arg, inputs, once) {
                true => builder.uniform(number, kind)?,
                false => builder.load(number, kind)?,
            });
        }
        values[s] = Some(trace::step(&builder, (step.op, step.dtype, step.out), &operands)?);
    }
    let mut builder = builder.into_inner();
    for (k, &s) in writes.iter().enumerate() {
        builder.store(u8::try_from(reads.len() + k).ok()?, values[usize::from(s)]?)?;
    }
    Some(builder)
}

/// What the doctor says of compiled code.
pub(crate) fn findings() -> [Finding; 2] {
    [finding(), Finding::of_switch(PERF_VARIABLE, "the map of machine code for profilers, in /tmp")]
}

fn finding() -> Finding {
    let value = std::env::var_os(NATIVE_VARIABLE);
    let value = value.as_deref().map(|value| value.to_string_lossy());
    if cache::is_refused() {
        return Finding::note(
            NATIVE_VARIABLE,
            "programs and kernels are interpreted: the system does not let memory be executed that was written",
            "allow it (SELinux: execmem; a filter of system calls: mprotect with PROT_EXEC), or leave it so: results are \
             the same",
        );
    }
    let (known, bytes) = cache::size();
    let text = format!("{known} programs known, {} KiB of code", bytes >> 10);
    match value.as_deref() {
        None => Finding::fine(NATIVE_VARIABLE, format!("not set: programs and kernels are compiled; {text}")),
        Some("0") => Finding::fine(NATIVE_VARIABLE, "0: programs and kernels are interpreted"),
        Some(level @ ("avx2" | "avx512")) => Finding::fine(
            NATIVE_VARIABLE,
            format!(
                "{level}: programs and kernels are compiled, where the processor has AVX-512 to that level; {text}"
            ),
        ),
        Some("1") => Finding::fine(NATIVE_VARIABLE, format!("1: programs and kernels are compiled; {text}")),
        Some("always") => Finding::fine(
            NATIVE_VARIABLE,
            format!("always: programs and kernels are compiled the first time; {text}"),
        ),
        Some(other) => Finding::note(
            NATIVE_VARIABLE,
            format!("{other:?}: programs and kernels are compiled, as only 0 turns it off"),
            format!("export {NATIVE_VARIABLE}=0, or unset {NATIVE_VARIABLE}"),
        ),
    }
}
