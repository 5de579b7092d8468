//! The attribute macros of Stridewise: `kernel` makes a kernel of a function, `device_function` a function that kernels call.
//!
//! A function is read as syntax and written again as calls of `stridewise::kernel::typed`, whose functions rustc checks at the
//! tokens that the user wrote. What has no counterpart in a kernel is an error of the macro, which says what to write instead.

// No copy of the function stays as it was written. Names, types and literals stay at their places in the
// source, and everything between them becomes a call: `a * x[i]` is `mul(a, x.load((i,)))`, where `a` is an
// `Expr<'_, f32>` and `mul` takes two of one type. So rustc infers types as in any function, also of
// literals, its errors are about the tokens that the user wrote, and generic functions have a kernel for each
// list of arguments, built when it is first asked for. Places come by `Location::caller`, so that the
// verifier and checked mode name the same lines. The other way, a copy of the function for rustc and one for
// the kernel, would need arrays that can be indexed in earnest, and would accept what the kernel's copy
// cannot say.
//
// A name is the kernel's where the function declares it; any other one is a constant of the program around
// it, taken in when the kernel is built. So a kernel captures nothing that changes: extents that differ are
// parameters, or `const` parameters.
//
// Ids, extents and captured `usize` are `i64`, because what lies before the first row must be comparable with
// 0. `/` and `%` of signed integers are Rust's and take seven operations more than the engine's own, which
// round down: those are `div_floor` and `rem_floor`. `&&` and `||` are a branch where their second operand
// reads memory or calls something, and a plain operation elsewhere.
//
// What the macro itself must refuse, it refuses with the rule and what to write instead; what the form
// refuses (barriers in divergent branches, variables without a value), the first call reports.

mod body;
mod expression;
mod signature;
mod syntax;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

/// Makes a kernel of a function, which every item of an index space runs.
///
/// The function becomes one that launches the kernel: its first two parameters are the queue and the index space
/// (`impl Into<NdRange>`), the others those that were written, but for the item. `name::kernel()` beside it is the
/// `Kernel` itself. It is built and verified on the first call, once for each list of generic arguments.
///
/// Without a device, the rules themselves run a kernel, one item at a time, for a test of it:
///
#[doc = include_str!("example.md")]
///
/// # Parameters
/// - `item: Item<D>`, the first one: the item, in an index space of `D` dimensions (`item.global_id(axis)`,
///   `item.barrier()`, `item.reduce_sum(x)` and others).
/// - `x: &Global<T>`, `y: &mut Global<T, 2>`: an array that is read, or written as well, of so many dimensions (1, where that is
///   left out); the caller gives `&Array<T>`, `&mut Array<T>`.
/// - `tile: &mut Local<T>`: memory of the group; the caller gives the extents, `[usize; 1]`.
/// - `a: f32`: a number.
///
/// # Statements
/// `let`, `let mut`, assignments, `if` and `else` (also as values), `while`, `loop`, `for i in a..b` (with `.step_by(n)` or
/// `.rev()`), `break`, `continue`, `return`, blocks, `const` items, `assert!` (the launch fails where it does not hold).
///
/// # Expressions
/// Operators and `as`, as in Rust; integers wrap. `a[i]`, `a[[i, j]]` or `a[i][j]`, and `a[[i, j, k]]` are elements; indices are
/// integers of any type. `a[i].fetch_add(x)` and its kin, `swap`, `compare_exchange(expected, new)`, `atomic_load()` and
/// `atomic_store(x)` are atomic accesses, relaxed unless an order and a scope follow. `let tile: Local<f32, 2> =
/// Local::new([16, 16]);` is memory of the group, `let mut sums = [0.0; 4];` an array of the item's own. Constants around the
/// function, and its `const` parameters, are taken in; constant arrays may be indexed. Functions of numbers are those of
/// `Expr`, under the names of Rust's standard library; others are functions with the attribute `device_function`.
#[proc_macro_attribute]
pub fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    signature::kernel(attribute.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a function that kernels, and other such functions, call: its body takes the place of the call.
///
/// Parameters are as those of a `kernel`; arrays may be those of an item's own too (`&mut Private<f32>`), and the item need not
/// be the first one, or there. It returns nothing or one number, and does not call itself.
#[proc_macro_attribute]
pub fn device_function(attribute: TokenStream, item: TokenStream) -> TokenStream {
    signature::device_function(attribute.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
