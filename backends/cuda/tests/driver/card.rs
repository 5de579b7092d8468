//! The same scenarios on a card, where the machine has one: everything in one test, as the last part loses the device.

use stridewise_core::backend::{Language, Source};
use stridewise_core::kernel::{KernelBundle, SourceArgument};
use stridewise_core::memory::UsmMemory;
use stridewise_core::{Device, Error, Event, Queue, Result, Scalar, UsmKind};

use crate::compiler::compiler;
use crate::order::random_work;
use crate::routines::{decompose, decompositions, transforms};
use crate::scenario::{QUEUES, bytes, check, program};

const ADD: &str = ".version 6.0
.target sm_50
.address_size 64
.visible .entry add(.param .u64 a, .param .u64 b, .param .u32 n)
{
  .reg .pred %p;
  .reg .b32 %r<6>;
  .reg .b64 %d<6>;
  ld.param.u64 %d0, [a];
  ld.param.u64 %d1, [b];
  ld.param.u32 %r0, [n];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  setp.ge.u32 %p, %r4, %r0;
  @%p bra DONE;
  mul.wide.u32 %d2, %r4, 4;
  add.u64 %d0, %d0, %d2;
  add.u64 %d1, %d1, %d2;
  ld.global.u32 %r1, [%d0];
  ld.global.u32 %r2, [%d1];
  add.u32 %r1, %r1, %r2;
  st.global.u32 [%d0], %r1;
DONE:
  ret;
}
";

const ROTATE: &str = "extern \"C\" __global__ void rotate(const unsigned* a, unsigned* b, unsigned start) {
  extern __shared__ char local[];
  unsigned* part = (unsigned*)(local + start);
  unsigned n = blockDim.x, i = blockIdx.x * n + threadIdx.x;
  part[threadIdx.x] = a[i];
  __syncthreads();
  b[i] = part[(threadIdx.x + 1) % n];
}
";

const FAULT: &str = ".version 6.0
.target sm_50
.address_size 64
.visible .entry fault(.param .u64 a)
{
  .reg .b64 %d;
  mov.u64 %d, 64;
  st.global.u32 [%d], 1;
  ret;
}
";

fn kernel(
    queue: &Queue,
    language: Language<'_>,
    text: &str,
    name: &str,
) -> Result<stridewise_core::kernel::SourceKernel> {
    KernelBundle::compile(queue, Source::new(language, text.as_bytes()), "")?.kernel(name)
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]])).collect()
}

/// Kernels from sources, against plain Rust.
fn kernels(queue: &Queue) -> Result<()> {
    const LEN: usize = 100_000;
    let (first, second) = (bytes(4 * LEN, 1), bytes(4 * LEN, 2));
    let a = UsmMemory::new(UsmKind::Device, 4 * LEN, queue)?;
    let b = UsmMemory::new(UsmKind::Shared, 4 * LEN, queue)?;
    a.copy_from_host(0, &first)?;
    b.copy_from_host(0, &second)?;
    let add = kernel(queue, Language::Ptx, ADD, "add")?;
    let arguments: [SourceArgument<'_>; 3] = [(&a).into(), (&b).into(), Scalar::U32(LEN as u32).into()];
    for _ in 0..3 {
        // SAFETY: the arguments have the types of the parameters, and the kernel guards the items beyond the end.
        unsafe { add.launch(queue, LEN, &arguments, &[]) }?;
    }
    let expected: Vec<u32> =
        words(&first).iter().zip(words(&second)).map(|(a, b)| a.wrapping_add(b.wrapping_mul(3))).collect();
    check(words(&a.to_bytes()?) == expected, "a kernel of PTX")?;
    // SAFETY: as above, but for the third argument, which is refused.
    let refused = unsafe { add.launch(queue, LEN, &[(&a).into(), (&b).into(), Scalar::U8(1).into()], &[]) };
    check(
        matches!(refused.and_then(|event| event.wait()), Err(Error::Value(_))),
        "an argument of another size",
    )?;

    let broken = kernel(queue, Language::Ptx, ".version 6.0\n.target sm_50\nnonsense", "x");
    check(matches!(broken, Err(Error::Compilation(_))), "PTX that is none")?;
    if compiler().is_none() {
        println!("no NVRTC: CUDA C++ was not tried");
        return Ok(());
    }
    let rotate = kernel(queue, Language::CudaC, ROTATE, "rotate")?;
    const GROUP: usize = 128;
    let count = LEN / GROUP * GROUP;
    let range = stridewise_core::kernel::NdRange::in_groups(&[count], &[GROUP]);
    let arguments: [SourceArgument<'_>; 3] = [(&b).into(), (&a).into(), SourceArgument::Local(4 * GROUP)];
    // SAFETY: the arguments have the types of the parameters; each item accesses its own element and one of its group.
    unsafe { rotate.launch(queue, range, &arguments, &[]) }?;
    let (got, from) = (words(&a.to_bytes()?), words(&second));
    let right = (0..count).all(|i| got[i] == from[i / GROUP * GROUP + (i % GROUP + 1) % GROUP]);
    check(right, "a kernel of CUDA C++ with local memory")
}

/// A fault: the device is lost, and nothing hangs.
fn fault(queue: &Queue) -> Result<()> {
    let memory = UsmMemory::new(UsmKind::Device, 1 << 16, queue)?;
    let fault = kernel(queue, Language::Ptx, FAULT, "fault")?;
    // SAFETY: none: this is a fault on purpose. The driver stops the kernel, and everything of the context with it.
    let faulty = unsafe { fault.launch(queue, 1, &[(&memory).into()], &[]) }?;
    let behind = queue.fill(&memory, 0, Scalar::U8(1), 1 << 16, &[])?;
    let task = queue.submit_host_task(|| Ok(()), std::slice::from_ref(&behind))?;
    for event in [&task, &behind, &faulty] {
        let error = Event::wait(event).err().map(|error| error.to_string()).unwrap_or_default();
        check(error.contains("ILLEGAL_ADDRESS"), format!("{event:?}: {error}"))?;
    }
    let refused = UsmMemory::new(UsmKind::Device, 9 << 20, queue).map(drop);
    check(matches!(refused, Err(Error::Runtime(_))), format!("{refused:?} of a lost device"))
}

#[test]
fn everything_on_a_card() {
    let devices = stridewise_cuda::driver().devices();
    for finding in stridewise_cuda::driver().diagnose() {
        println!("{}: {} {}", finding.subject, finding.text, finding.remedy);
    }
    let devices: Vec<Device> = devices.into_iter().map(Device::from_backend).collect();
    let Some(device) = devices.first() else {
        println!("no card");
        return;
    };
    println!("{:#?}", device.info());
    for properties in QUEUES {
        let begin = std::time::Instant::now();
        let queue = Queue::new(device, properties).unwrap();
        program(&queue, 5).unwrap();
        kernels(&queue).unwrap();
        println!("{properties:?}: {:?}", begin.elapsed());
    }
    // Libraries, where they are installed.
    type Part = fn(&Queue) -> Result<()>;
    let parts: [(&str, Part); 3] =
        [("transforms", transforms), ("Cholesky", decompositions), ("decompositions", decompose)];
    for (name, part) in parts {
        match part(&device.queue().unwrap()) {
            Ok(()) => println!("{name}: right"),
            Err(Error::Unsupported(missing)) => println!("{name}: {missing:?}"),
            Err(error) => panic!("{name}: {error}"),
        }
    }
    for seed in 1..=20 {
        random_work(&devices[..devices.len().min(2)], seed * 0x9E37_79B9, 200).unwrap();
    }
    println!("{} objects live", stridewise_cuda::live_handles());
    fault(&device.queue().unwrap()).unwrap();
    drop(devices);
    println!("{} objects live after the device is lost", stridewise_cuda::live_handles());
}
