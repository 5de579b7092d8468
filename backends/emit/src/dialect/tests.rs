//! What a text of OpenCL C is in the other languages.

use super::Dialect;

/// A text without what stands before it.
fn cuda(text: &str) -> String {
    let whole = Dialect::CudaC.whole(text.to_owned());
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("#pragma OPENCL")).collect();
    let own: Vec<&str> = whole.lines().collect();
    own[own.len() - lines.len()..].join("\n")
}

#[test]
fn openclc_is_as_it_is_written() {
    let text = "kernel void run(global float2 *x) { *x = (float2)(1.0f, 2.0f); }\n";
    assert_eq!(Dialect::OpenClC.whole(text.to_owned()), text);
}

#[test]
fn qualifiers_are_cudas() {
    assert_eq!(cuda("static inline int f(const int x)"), "static __device__ inline int f(const int x)");
    assert_eq!(
        cuda("kernel  void run(global const int *p)"),
        "extern \"C\" __global__  void run( const int *p)"
    );
    assert_eq!(
        cuda("kernel __attribute__((reqd_work_group_size(64, 2, 1))) void run()"),
        "extern \"C\" __global__ __launch_bounds__(64 * 2 * 1) void run()"
    );
    assert_eq!(
        cuda("local uint a[2 * N] __attribute__((aligned(16)));"),
        "__shared__ uint a[2 * N] __attribute__((aligned(16)));"
    );
    assert_eq!(cuda("local uint *p = (local const uint *)a;"), " uint *p = ( const uint *)a;");
    assert_eq!(cuda("volatile local uint *p"), "volatile  uint *p");
    assert_eq!(cuda("constant int o0[2] = {1, 2};"), "__constant__ int o0[2] = {1, 2};");
    assert_eq!(cuda("#pragma OPENCL FP_CONTRACT OFF\nint x;"), "int x;");
}

#[test]
fn vectors_are_made_by_constructors() {
    assert_eq!(cuda("(float2)(x, (double2)(y, z).x)"), "sw_float2(x, sw_double2(y, z).x)");
    assert_eq!(cuda("( float2 ) (x)"), "sw_float2 (x)");
    assert_eq!(cuda("*(global uint4 *)(p + 4)"), "*( sw_uint4 *)(p + 4)");
    assert_eq!(cuda("float3 x; (int)(y)"), "float3 x; (int)(y)");
    assert_eq!(cuda("as_uint(x) + convert_float2(y).x"), "sw_as<uint>(x) + sw_convert<sw_float2>(y).x");
    assert_eq!(cuda("as_float2(x), has_uint(y)"), "sw_as<sw_float2>(x), has_uint(y)");
}

#[test]
fn quotes_and_comments_stay() {
    assert_eq!(cuda("asm(\"ld.global kernel\"); // local x"), "asm(\"ld.global kernel\"); // local x");
    assert_eq!(cuda("/* global\n local */ x"), "/* global\n local */ x");
}

#[test]
fn a_text_has_what_it_uses_before_it() {
    let whole = Dialect::CudaC.whole("int f(float8 x) { return popcount(as_uint(x.s0)); }\n".to_owned());
    for name in ["struct alignas(8) sw_float2", "sw_float4 {", "sw_float8 {", "uint popcount(", "T sw_as("] {
        assert_eq!(whole.matches(name).count(), 1, "{name}");
    }
    for name in ["sw_float16", "sw_double2", "atomicAdd", "sw_shared"] {
        assert!(!whole.contains(name), "{name}");
    }
    // What a part uses.
    assert!(Dialect::CudaC.whole("vload2(0, p)\n".to_owned()).contains("struct alignas(16) sw_double2"));
}
