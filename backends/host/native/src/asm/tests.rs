//! Every form, register by register and address by address, read back by a disassembler.

use iced_x86::{Decoder, DecoderOptions, Instruction, MemorySize, OpKind, Register};

use super::forms::{ALL, Form, Memory, Shape, Width};
use super::*;

/// The only instruction of some code, and how long it is.
fn read(code: &[u8]) -> (Instruction, usize) {
    let mut decoder = Decoder::with_ip(64, code, 0, DecoderOptions::NONE);
    let instruction = decoder.decode();
    assert!(!instruction.is_invalid(), "{code:02x?}");
    (instruction, instruction.len())
}

fn name(instruction: &Instruction) -> String {
    format!("{:?}", instruction.mnemonic()).to_lowercase()
}

fn general(Gpr(number): Gpr) -> Register {
    Register::RAX + u32::from(number)
}

fn register(width: Width, bytes: u8, number: u8) -> Register {
    let bytes = match width {
        Width::Whole => bytes,
        Width::Half => bytes / 2,
        Width::Quarter => bytes / 4,
        Width::Eighth => bytes / 8,
        Width::Lowest => 16,
        Width::Mask => return Register::K0 + u32::from(number),
        Width::General => return general(Gpr(number)),
    };
    let first = match bytes {
        64 => Register::ZMM0,
        32 => Register::YMM0,
        _ => Register::XMM0,
    };
    first + u32::from(number)
}

fn expect_memory(instruction: &Instruction, mem: &Mem, what: &str) {
    let Base::Gpr(base) = mem.base else { panic!("{what}") };
    assert_eq!(instruction.memory_base(), general(base), "{what}");
    let (index, scale) = match mem.index {
        Some((index, scale)) => (general(index), 1 << scale),
        None => (Register::None, 1),
    };
    assert_eq!((instruction.memory_index(), instruction.memory_index_scale()), (index, scale), "{what}");
    assert_eq!(instruction.memory_displacement64().cast_signed(), i64::from(mem.displacement), "{what}");
}

fn check(form: &Form, bytes: u8, operands: &Operands) {
    let mut assembler = Assembler::default();
    assembler.vector(form, bytes, operands);
    let code = assembler.finish().unwrap();
    let what = format!("{form:?} {bytes} {operands:?} {code:02x?}");
    let (instruction, length) = read(&code);
    assert_eq!(length, code.len(), "{what}");
    assert_eq!(name(&instruction), form.name, "{what}");
    let reg = register(form.reg, bytes, operands.reg);
    let vvvv = match (form.rm, form.reg) {
        (Width::Mask, _) => register(Width::Mask, bytes, operands.vvvv),
        _ => register(Width::Whole, bytes, operands.vvvv),
    };
    let rm = match operands.rm {
        Rm::Reg(number) => Some(register(form.rm, bytes, number)),
        Rm::Mem(_) => None,
    };
    let mut expected = match form.shape {
        Shape::Rm | Shape::RmI => vec![Some(reg), rm],
        Shape::Rvm | Shape::RvmI => vec![Some(reg), Some(vvvv), rm],
        Shape::RvmR => vec![Some(reg), Some(vvvv), rm, Some(register(Width::Whole, bytes, operands.last))],
        Shape::Mr | Shape::MrI => vec![rm, Some(reg)],
        Shape::Mvr => vec![rm, Some(vvvv), Some(reg)],
        Shape::VmI(_) => vec![Some(vvvv), rm],
    };
    let has_number = matches!(form.shape, Shape::RmI | Shape::RvmI | Shape::MrI | Shape::VmI(_));
    assert_eq!(instruction.op_count() as usize, expected.len() + usize::from(has_number), "{what}");
    for (i, register) in expected.drain(..).enumerate() {
        let i = i as u32;
        match register {
            Some(register) => assert_eq!(instruction.op_register(i), register, "{what}"),
            None => assert_eq!(instruction.op_kind(i), OpKind::Memory, "{what}"),
        }
    }
    if has_number {
        assert_eq!(instruction.immediate8(), operands.last, "{what}");
    }
    if let Rm::Mem(mem) = &operands.rm {
        expect_memory(&instruction, mem, &what);
        let size = instruction.memory_size();
        assert!(size != MemorySize::Unknown && !instruction.is_broadcast(), "{what}");
    }
    let mask = if operands.mask == 0 { Register::None } else { Register::K0 + u32::from(operands.mask) };
    assert_eq!((instruction.op_mask(), instruction.zeroing_masking()), (mask, operands.zeroing), "{what}");
}

/// Addresses of every kind: each base, each index, each factor, displacements of no, one and four bytes.
fn addresses() -> Vec<Mem> {
    let mut all = Vec::new();
    for base in 0..16 {
        for displacement in [0, 1, -128, 127, 64, 128, -129, 0x1234_5678] {
            all.push(Mem::at(Gpr(base), displacement));
        }
    }
    for index in (0..16).filter(|&index| Gpr(index) != RSP) {
        for scale in 0..4 {
            all.push(Mem::indexed(Gpr(index ^ 8), Gpr(index), scale, 0));
            all.push(Mem::indexed(RBP, Gpr(index), scale, 320));
        }
    }
    all
}

#[test]
fn every_form_with_every_register_and_address() {
    let addresses = addresses();
    for form in ALL {
        let lengths: Vec<(u8, bool)> = [(16, false), (32, false), (16, true), (32, true), (64, true)]
            .into_iter()
            .filter(|&(bytes, evex)| {
                let there = if evex { form.evex } else { form.vex };
                there.is_some() && (form.only == 0 || form.only == bytes)
            })
            .collect();
        assert!(!lengths.is_empty(), "{form:?}");
        for (bytes, evex) in lengths {
            let count = |width: Width| match (width, evex) {
                (Width::Mask, _) => 8,
                (Width::General, _) => 16,
                (_, true) => 32,
                (_, false) => 16,
            };
            let vectors = if form.rm == Width::Mask { 8 } else { count(Width::Whole) };
            let numbers = |i: u8| {
                let i = i % 96;
                let mut operands = Operands {
                    reg: i % count(form.reg),
                    vvvv: (i + 5) % vectors,
                    rm: Rm::Reg((i + 11) % count(form.rm)),
                    last: if form.shape == Shape::RvmR { (i + 7) % 16 } else { i ^ 0x5a },
                    mask: 0,
                    zeroing: false,
                };
                if matches!(form.shape, Shape::Rm | Shape::RmI | Shape::Mr | Shape::MrI) {
                    operands.vvvv = 0;
                }
                if matches!(form.shape, Shape::VmI(_)) {
                    operands.reg = 0;
                }
                operands
            };
            // By EVEX alone: a length or a register that VEX has not, or a mask.
            let forced = |operands: &Operands| {
                let high = |number: u8| number >= 16;
                let number = if let Rm::Reg(number) = operands.rm { number } else { 0 };
                form.vex.is_none()
                    || bytes == 64
                    || operands.mask != 0
                    || high(operands.reg)
                    || high(operands.vvvv)
                    || high(number)
            };
            let mut checked = 0;
            for i in 0..32 {
                let operands = numbers(i);
                if form.memory != Memory::Always && evex == forced(&operands) {
                    check(form, bytes, &operands);
                    checked += 1;
                }
            }
            for (i, &mem) in (0_u8..).zip(&addresses) {
                let operands = Operands { rm: Rm::Mem(mem), ..numbers(i) };
                if form.memory != Memory::Never && evex == forced(&operands) {
                    check(form, bytes, &operands);
                    checked += 1;
                }
            }
            // Masks, of what has any: not of blends, which have one in any case, and not of stores that the caches do not see.
            let masked = evex && form.only == 0 && form.name != "vmovntdq";
            for mask in 1..8_u8 {
                let memory = match form.memory {
                    Memory::Maybe => mask & 1 == 1,
                    memory => memory == Memory::Always,
                };
                let rm = if memory { Rm::Mem(addresses[usize::from(mask) * 9]) } else { numbers(mask).rm };
                // Results in memory and in masks have nothing to become 0.
                let stored = matches!(form.shape, Shape::Mr | Shape::MrI) && memory;
                let zeroing = mask & 2 != 0 && !stored && form.reg != Width::Mask;
                if masked {
                    check(form, bytes, &Operands { mask, zeroing, rm, ..numbers(mask) });
                    checked += 1;
                }
            }
            assert!(checked > 0, "{form:?} {bytes} {evex}");
        }
    }
}

#[test]
fn constants_are_found_behind_the_code() {
    let mut assembler = Assembler::default();
    let bytes: [u8; CONSTANT_BYTES] = std::array::from_fn(|i| i as u8);
    let first = assembler.constant(&[7; CONSTANT_BYTES]);
    let second = assembler.constant(&bytes);
    assert_eq!((first, second, assembler.constant(&bytes)), (0, 64, 64));
    let operands =
        |last| Operands { reg: 3, vvvv: 2, rm: Rm::Mem(Mem::pool(second)), last, mask: 0, zeroing: false };
    assembler.vector(&forms::ADDPS, 32, &operands(0));
    assembler.vector(&forms::SHUFPS, 64, &operands(9));
    assembler.ret();
    let code = assembler.finish().unwrap();
    let mut decoder = Decoder::with_ip(64, &code, 0, DecoderOptions::NONE);
    for _ in 0..2 {
        let instruction = decoder.decode();
        assert!(instruction.is_ip_rel_memory_operand());
        let at = usize::try_from(instruction.ip_rel_memory_address()).unwrap();
        assert_eq!(code[at..at + CONSTANT_BYTES], bytes);
    }
}

/// One instruction of general registers against what the disassembler says of it: its name, registers, memory and number.
fn general_check(
    what: &str,
    registers: &[Gpr],
    mem: Option<Mem>,
    number: Option<i64>,
    write: impl Fn(&mut Assembler),
) {
    let mut assembler = Assembler::default();
    write(&mut assembler);
    let code = assembler.finish().unwrap();
    let (instruction, length) = read(&code);
    let message = format!("{what} {registers:?} {mem:?} {code:02x?}");
    assert_eq!((name(&instruction), length), (what.to_owned(), code.len()), "{message}");
    let mut found = Vec::new();
    for i in 0..instruction.op_count() {
        match instruction.op_kind(i) {
            OpKind::Register => found.push(match instruction.op_register(i) {
                Register::AL | Register::EAX => Register::RAX,
                Register::CL => Register::RCX,
                whole => whole,
            }),
            OpKind::Memory => expect_memory(&instruction, &mem.expect(&message), &message),
            _ => assert_eq!(instruction.immediate(i).cast_signed(), number.expect(&message), "{message}"),
        }
    }
    let wanted: Vec<Register> = registers.iter().map(|&r| general(r)).collect();
    assert_eq!(found, wanted, "{message}");
}

/// The lowest bytes of some registers.
fn part(register: Gpr, bytes: u8) -> Register {
    let first = match bytes {
        8 => Register::RAX,
        4 => Register::EAX,
        2 => Register::AX,
        _ if register == RDI => return Register::DIL,
        _ if register == Gpr(9) => return Register::R9L,
        _ => Register::AL,
    };
    first + u32::from(register.0)
}

/// Loads and stores of parts of a register: how many bytes, and what the rest of it becomes.
fn parts(a: Gpr, mem: Mem) {
    for (size, signed, name_of, memory) in [
        (1, false, "movzx", MemorySize::UInt8),
        (1, true, "movsx", MemorySize::Int8),
        (2, false, "movzx", MemorySize::UInt16),
        (2, true, "movsx", MemorySize::Int16),
        (4, false, "mov", MemorySize::UInt32),
        (4, true, "movsxd", MemorySize::Int32),
        (8, false, "mov", MemorySize::UInt64),
    ] {
        let mut assembler = Assembler::default();
        assembler.load_as(a, Rm::Mem(mem), size, signed);
        let code = assembler.finish().unwrap();
        let (instruction, length) = read(&code);
        assert_eq!((name(&instruction), length), (name_of.to_owned(), code.len()), "{code:02x?}");
        assert_eq!(
            (instruction.memory_size(), instruction.op0_register()),
            (memory, part(a, if signed || size < 4 { 8 } else { size }))
        );
        expect_memory(&instruction, &mem, name_of);
        for from in [RAX, RDI, Gpr(9)] {
            let mut assembler = Assembler::default();
            assembler.load_as(a, Rm::Reg(from.0), size, signed);
            let code = assembler.finish().unwrap();
            let (instruction, length) = read(&code);
            assert_eq!((name(&instruction), length), (name_of.to_owned(), code.len()), "{code:02x?}");
            let whole = if signed || size < 4 { 8 } else { size };
            let registers = (part(a, whole), part(from, size));
            assert_eq!((instruction.op0_register(), instruction.op1_register()), registers, "{code:02x?}");
        }
    }
    for (size, memory) in
        [(1, MemorySize::UInt8), (2, MemorySize::UInt16), (4, MemorySize::UInt32), (8, MemorySize::UInt64)]
    {
        let mut assembler = Assembler::default();
        assembler.store_as(mem, a, size);
        let code = assembler.finish().unwrap();
        let (instruction, length) = read(&code);
        assert_eq!((name(&instruction), length), ("mov".to_owned(), code.len()), "{code:02x?}");
        assert_eq!((instruction.memory_size(), instruction.op1_register()), (memory, part(a, size)));
        expect_memory(&instruction, &mem, "mov");
    }
}

#[test]
fn numbers_are_added_to_memory() {
    for mem in addresses() {
        for a in [RAX, RDI, Gpr(9)] {
            for (size, memory) in [(4, MemorySize::UInt32), (8, MemorySize::UInt64)] {
                for lock in [false, true] {
                    let mut assembler = Assembler::default();
                    assembler.add_to(mem, a, size, lock);
                    let code = assembler.finish().unwrap();
                    let (instruction, length) = read(&code);
                    assert_eq!((name(&instruction), length), ("add".to_owned(), code.len()), "{code:02x?}");
                    assert_eq!(
                        (
                            instruction.memory_size(),
                            instruction.op1_register(),
                            instruction.has_lock_prefix()
                        ),
                        (memory, part(a, size), lock)
                    );
                    assert_eq!(instruction.op0_kind(), OpKind::Memory);
                    expect_memory(&instruction, &mem, "add");
                }
            }
        }
    }
}

#[test]
fn a_condition_becomes_a_number() {
    for (condition, name_of) in
        [(Condition::Below, "setb"), (Condition::Less, "setl"), (Condition::Equal, "sete")]
    {
        let mut assembler = Assembler::default();
        assembler.set_if(condition);
        let code = assembler.finish().unwrap();
        let mut decoder = Decoder::with_ip(64, &code, 0, DecoderOptions::NONE);
        let (set, wide) = (decoder.decode(), decoder.decode());
        assert_eq!((name(&set), name(&wide)), (name_of.to_owned(), "movzx".to_owned()));
        assert_eq!(
            (set.op0_register(), wide.op0_register(), wide.op1_register()),
            (Register::AL, Register::RAX, Register::AL)
        );
        assert!(!decoder.can_decode());
    }
}

#[test]
fn general_registers() {
    for number in 0..16 {
        let (a, b) = (Gpr(number), Gpr((number + 7) % 16));
        general_check("push", &[a], None, None, |x| x.push(a));
        general_check("pop", &[a], None, None, |x| x.pop(a));
        general_check("mov", &[a, b], None, None, |x| x.mov(a, b));
        general_check("mov", &[a], None, Some(-5), |x| x.mov_number(a, -5));
        general_check("add", &[a], None, Some(1000), |x| x.add(a, 1000));
        general_check("and", &[a], None, Some(-64), |x| x.and(a, -64));
        general_check("sub", &[a, b], None, None, |x| x.sub(a, b));
        general_check("not", &[a], None, None, |x| x.not(a));
        general_check("neg", &[a], None, None, |x| x.neg(a));
        general_check("shl", &[a], None, Some(3), |x| x.shl(a, 3));
        general_check("shl", &[a, RCX], None, None, |x| x.shl_by_rcx(a));
        general_check("cmp", &[a, b], None, None, |x| x.compare(a, b));
        general_check("cmp", &[a], None, Some(77), |x| x.compare_number(a, 77));
        general_check("test", &[a, a], None, None, |x| x.test(a));
        general_check("call", &[a], None, None, |x| x.call(a));
        general_check("imul", &[a, b], None, None, |x| x.multiply(a, Rm::Reg(b.0)));
        general_check("imul", &[a, b], None, Some(-300), |x| x.multiply_by(a, Rm::Reg(b.0), -300));
    }
    for mem in addresses() {
        for a in [RAX, RDI, Gpr(9)] {
            general_check("mov", &[a], Some(mem), None, |x| x.load(a, mem));
            general_check("lea", &[a], Some(mem), None, |x| x.address(a, mem));
            general_check("mov", &[a], Some(mem), None, |x| x.store(mem, a));
            general_check("imul", &[a], Some(mem), None, |x| x.multiply(a, Rm::Mem(mem)));
            general_check("imul", &[a], Some(mem), Some(9), |x| x.multiply_by(a, Rm::Mem(mem), 9));
            for (op, name) in [
                (General::Add, "add"),
                (General::Or, "or"),
                (General::And, "and"),
                (General::Sub, "sub"),
                (General::Xor, "xor"),
                (General::Compare, "cmp"),
            ] {
                general_check(name, &[a], Some(mem), None, |x| x.by(op, a, Rm::Mem(mem)));
            }
            for (condition, name) in [
                (Condition::Below, "cmovb"),
                (Condition::NotBelow, "cmovae"),
                (Condition::Equal, "cmove"),
                (Condition::NotEqual, "cmovne"),
                (Condition::Less, "cmovl"),
                (Condition::NotGreater, "cmovle"),
                (Condition::Greater, "cmovg"),
            ] {
                general_check(name, &[a], Some(mem), None, |x| x.move_if(condition, a, Rm::Mem(mem)));
            }
            parts(a, mem);
        }
    }
    general_check("ret", &[], None, None, Assembler::ret);
    general_check("vzeroupper", &[], None, None, Assembler::zero_upper);
}

#[test]
fn jumps_lead_to_their_labels() {
    for (condition, name_of) in [
        (None, "jmp"),
        (Some(Condition::NotAbove), "jbe"),
        (Some(Condition::Equal), "je"),
        (Some(Condition::NotEqual), "jne"),
        (Some(Condition::Above), "ja"),
    ] {
        for forwards in [false, true] {
            let mut assembler = Assembler::default();
            let label = assembler.label();
            if !forwards {
                assembler.ret();
                assembler.bind(label);
                assembler.align(32);
            }
            let at = assembler.len();
            assembler.jump(condition, label);
            assembler.align(32);
            let mut to = if forwards { assembler.len() } else { 1 };
            if forwards {
                assembler.bind(label);
            }
            assembler.ret();
            let code = assembler.finish().unwrap();
            let mut decoder = Decoder::with_ip(64, &code[at..], at as u64, DecoderOptions::NONE);
            let instruction = decoder.decode();
            assert_eq!((name(&instruction), instruction.near_branch64()), (name_of.to_owned(), to as u64));
            // Nothing but the filling is between the two.
            let end = if forwards { to } else { at };
            to = if forwards { at + instruction.len() } else { to };
            let mut decoder = Decoder::with_ip(64, &code[to..end], to as u64, DecoderOptions::NONE);
            while decoder.can_decode() {
                assert_eq!(name(&decoder.decode()), "nop");
            }
        }
    }
    let mut assembler = Assembler::default();
    let label = assembler.label();
    assembler.jump(None, label);
    assert_eq!(assembler.finish(), None);
}
