use super::super::{
    AtomicOp, Class, Collective, Coordinate::*, Fence, KernelBuilder, Level::*, MemoryOrder, MemoryScope,
    Operand,
};
use super::{diagnostic, line};
use crate::dtype::Dtype;
use crate::error::Result;
use crate::ops::Op;
use crate::scalar::Scalar;

/// Every construct once.
fn everything() -> Result<super::super::Kernel> {
    let mut k = KernelBuilder::new("everything", 2)?;
    line(&mut k, 1);
    let a = k.global("a", Dtype::F32, 2, true)?;
    let n = k.scalar("n", Dtype::I64)?;
    let scratch = k.local_argument("scratch", Dtype::I32, 1)?;
    let tile = k.local("tile", Dtype::F32, &[4, 8])?;
    let own = k.private("own", Dtype::F64, &[3])?;
    let table = k.constant_array("table", &[2], &[Scalar::U8(7), Scalar::U8(9)])?;
    let x = k.variable("x", Dtype::F32)?;
    let result = k.variable("f.result", Dtype::F32)?;
    let (i, j) = (k.index(Global, Id(0))?, k.index(Global, Id(1))?);
    let l = k.index(Local, LinearId)?;
    let groups = k.index(Group, Range(1))?;
    let extent = k.extent(a, 1)?;
    k.set(x, 1)?;
    let inside = k.binary(Op::Less, j, extent)?;
    k.if_(inside)?;
    let v = k.load(a, [i, j])?;
    k.set(x, v)?;
    k.else_()?;
    k.store(own, [0], n)?;
    k.end()?;
    k.store(tile, [Operand::from(0), l.into()], x)?;
    k.barrier(Fence::BOTH);
    k.fence(MemoryOrder::AcqRel, MemoryScope::WorkGroup);
    let at = (MemoryOrder::Relaxed, MemoryScope::Device);
    let old = k.atomic(AtomicOp::Add, scratch, [l], Some(1.into()), at)?;
    let expected = k.get(Scalar::I32(3))?;
    k.atomic(AtomicOp::CompareExchange { expected }, scratch, [0], Some(old.into()), at)?;
    k.atomic(AtomicOp::Store, scratch, [0], Some(5.into()), at)?;
    let sum = k.collective(Collective::Reduce(Op::Add), x)?;
    let round = k.for_(0, groups, 2)?;
    let stop = k.binary(Op::Equal, round, 4)?;
    k.if_(stop)?;
    k.break_();
    k.end()?;
    k.continue_();
    k.end()?;
    k.while_()?;
    let entry = k.load(table, [1])?;
    let more = k.binary(Op::Less, entry, 300)?;
    k.do_(more)?;
    k.break_();
    k.end()?;
    k.call("f", Some(result))?;
    let half = k.binary(Op::Multiply, sum, 0.5)?;
    k.return_(Some(half.into()))?;
    k.end()?;
    k.store(a, [i, j], result)?;
    let positive = k.binary(Op::Greater, n, 0)?;
    k.assert(positive, "n is positive")?;
    k.return_(None)?;
    k.finish()
}

#[test]
fn a_form_prints_as_text() {
    let text = everything().unwrap().to_string();
    let expected = "\
kernel everything<2>(global mut a: float32[:, :], n %0: int64, local scratch: int32[:]) {
  local tile: float32[4, 8]
  private own: float64[3]
  constant table: uint8[2] = [U8(7), U8(9)]
  var x: float32
  var f.result: float32
  %1: int64 = global_id 0
  %2: int64 = global_id 1
  %3: int64 = local_linear_id
  %4: int64 = group_range 1
  %5: int64 = extent a 1
  %6: float32 = F32(1.0)
  x = %6
  %7: bool = less %2, %5
  if %7 {
    %8: float32 = a[%1, %2]
    x = %8
  } else {
    %9: int64 = I64(0)
    %10: float64 = cast %0
    own[%9] = %10
  }
  %11: int64 = I64(0)
  %12: float32 = x
  tile[%11, %3] = %12
  barrier local global
  fence AcqRel WorkGroup
  %13: int32 = I32(1)
  %14: int32 = atomic_add scratch[%3], %13 Relaxed Device
  %15: int32 = I32(3)
  %16: int64 = I64(0)
  %17: int32 = atomic_compare_exchange scratch[%16], %15, %14 Relaxed Device
  %18: int64 = I64(0)
  %19: int32 = I32(5)
  atomic_store scratch[%18], %19 Relaxed Device
  %21: float32 = x
  %22: float32 = group_reduce add %21
  %23: int64 = I64(0)
  %24: int64 = I64(2)
  for %25: int64 = %23, %4, %24 {
    %26: int64 = I64(4)
    %27: bool = equal %25, %26
    if %27 {
      break
    }
    continue
  }
  while {
    %28: int64 = I64(1)
    %29: uint8 = table[%28]
    %30: bool = Bool(true)
  } %30 {
    break
  }
  call f {
    %31: float32 = F32(0.5)
    %32: float32 = multiply %22, %31
    f.result = %32
    return
  }
  %33: float32 = f.result
  a[%1, %2] = %33
  %34: int64 = I64(0)
  %35: bool = greater %0, %34
  assert %35, \"n is positive\"
  return
}";
    assert_eq!(text, expected);
    assert_eq!(everything().unwrap(), everything().unwrap());
}

#[test]
fn what_a_kernel_accesses_is_known() {
    let kernel = everything().unwrap();
    let names = |which: &dyn Fn(super::super::Object) -> bool| {
        let objects = (0..kernel.form().objects.len() as u32).map(super::super::Object);
        objects.filter(|&o| which(o)).map(|o| kernel.form().object(o).name.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(names(&|o| kernel.reads(o)), ["a", "scratch", "table"]);
    assert_eq!(names(&|o| kernel.writes(o)), ["a", "scratch", "tile", "own"]);
    assert!(kernel.is_grouped());
}

#[test]
fn values_differ_between_items_as_their_class_says() {
    let mut k = KernelBuilder::new("classes", 1).unwrap();
    let a = k.global("a", Dtype::I32, 1, false).unwrap();
    let n = k.scalar("n", Dtype::I64).unwrap();
    let i = k.index(Global, Id(0)).unwrap();
    let row = k.binary(Op::Multiply, i, n).unwrap();
    let place = k.binary(Op::Add, row, 3).unwrap();
    let square = k.binary(Op::Multiply, i, i).unwrap();
    let half = k.binary(Op::FloorDivide, i, 2).unwrap();
    let first = k.load(a, [0]).unwrap();
    let own = k.load(a, [i]).unwrap();
    let group = k.index(Group, Id(0)).unwrap();
    let x = k.variable("x", Dtype::I64).unwrap();
    k.set(x, 1).unwrap();
    let same = k.get(x).unwrap();
    let odd = k.binary(Op::Greater, own, 0).unwrap();
    k.if_(odd).unwrap();
    k.set(x, 2).unwrap();
    let inside = k.get(x).unwrap();
    k.end().unwrap();
    let after = k.get(x).unwrap();
    let round = k.for_(0, own, 1).unwrap();
    k.set(x, round).unwrap();
    k.end().unwrap();
    let kernel = k.finish().unwrap();
    let classes =
        |values: &[super::super::Value]| values.iter().map(|&v| kernel.class(v)).collect::<Vec<_>>();
    assert_eq!(classes(&[n, first, group, same, inside, round]), [Class::Uniform; 6]);
    assert_eq!(classes(&[i, row, place]), [Class::Affine; 3]);
    assert_eq!(classes(&[square, half, own, odd, after]), [Class::Varying; 5]);
}

#[test]
fn values_end_where_nothing_needs_them_any_more() {
    let mut k = KernelBuilder::new("ends", 1).unwrap();
    let a = k.global("a", Dtype::I64, 1, true).unwrap();
    let i = k.index(Global, Id(0)).unwrap(); // Statement 0.
    let x = k.load(a, [i]).unwrap(); // 1
    let round = k.for_(0, x, 1).unwrap(); // 2 and 3: the constants. 4: the loop.
    let y = k.binary(Op::Add, x, round).unwrap(); // 5
    k.store(a, [i], y).unwrap(); // 6
    k.end().unwrap();
    let z = k.get(7).unwrap(); // 7
    let kernel = k.finish().unwrap();
    let end = |value| (0..8).find(|&s| kernel.ends_at(s).contains(&value));
    assert_eq!([i, x, round, y, z].map(end), [Some(4), Some(4), Some(4), Some(6), Some(7)]);
}

#[test]
fn numbers_without_a_dtype_take_that_of_what_they_stand_beside() {
    let mut k = KernelBuilder::new("weak", 1).unwrap();
    let a = k.global("a", Dtype::U8, 1, true).unwrap();
    let f = k.global("f", Dtype::F16, 1, true).unwrap();
    let (u, h) = (k.load(a, [0]).unwrap(), k.load(f, [0]).unwrap());
    let mut dtype = |op, x: Operand, y: Operand| {
        let value = k.binary(op, x, y).unwrap();
        k.dtype(value).unwrap()
    };
    assert_eq!(dtype(Op::Add, u.into(), 1.into()), Dtype::U8);
    assert_eq!(dtype(Op::Add, u.into(), 0.5.into()), Dtype::F64);
    assert_eq!(dtype(Op::Multiply, 2.into(), h.into()), Dtype::F16);
    assert_eq!(dtype(Op::Add, u.into(), h.into()), Dtype::F16);
    assert_eq!(dtype(Op::Divide, u.into(), 2.into()), Dtype::F64);
    assert_eq!(dtype(Op::Less, u.into(), 300.into()), Dtype::Bool);
    line(&mut k, 12);
    let error = k.binary(Op::Add, u, 300).unwrap_err();
    assert_eq!((diagnostic(&error).at.line, diagnostic(&error).rule.name()), (12, "types"));
    assert!(error.to_string().contains("300"), "{error}");
    assert!(error.to_string().starts_with("kernel: kernel.py:12:5:"), "{error}");
}

#[test]
fn without_a_place_of_its_own_a_statement_stands_where_it_is_built() {
    let mut k = KernelBuilder::new("place", 1).unwrap();
    k.index(Global, Id(0)).unwrap();
    let here = line!() - 1;
    let at = &k.form().body[0].at;
    assert_eq!((&*at.file, at.line), (file!(), here));
}
