//! What the macros say to what has no counterpart in a kernel: the text, and the token that it is about.

use proc_macro2::TokenStream;
use quote::quote;

use crate::signature;

/// The errors of a kernel of these tokens.
fn errors(tokens: TokenStream) -> Vec<String> {
    match signature::kernel(TokenStream::new(), tokens) {
        Ok(expansion) => panic!("it is taken: {expansion}"),
        Err(error) => error.into_iter().map(|error| error.to_string()).collect(),
    }
}

/// The only error of a kernel with this body.
fn error_of(body: TokenStream) -> String {
    let errors = errors(quote! {
        fn k(item: Item<1>, a: f32, x: &Global<f32>, y: &mut Global<f32, 2>) {
            let i = item.global_id(0);
            #body
        }
    });
    assert_eq!(errors.len(), 1, "{errors:?}");
    errors[0].clone()
}

macro_rules! refused {
    ($($name:ident: { $($body:tt)* } $($part:literal)+;)*) => {$(
        #[test]
        fn $name() {
            let error = error_of(quote!($($body)*));
            for part in [$($part),+] {
                assert!(error.contains(part), "{error}");
            }
        }
    )*};
}
refused! {
    a_read_only_array_is_not_written: { x[i] = 1.0; } "`x` is read-only" "&mut Global";
    nor_by_an_assigning_operator: { x[i] += 1.0; } "`x` is read-only";
    nor_atomically: { x[i].fetch_add(1.0); } "`x` is read-only";
    nor_by_a_function: { f(&mut x, i); } "`x` is read-only";
    what_is_not_mutable_is_not_assigned: { let s = 0.0; s = a; } "`s` is not mutable" "let mut s";
    a_parameter_neither: { a += 1.0; } "`a` is not mutable";
    nor_anything_outside: { TOTAL = 1.0; } "`TOTAL` is no variable of this kernel";
    an_array_is_no_number: { let s = x + 1.0; } "`x` is an array" "`x[i]`";
    nor_is_it_assigned_to: { y = a; } "assign to an element";
    a_number_has_no_elements: { let s = a[i]; } "`a` is a number";
    the_item_is_no_number: { let s = item + 1; } "item.global_id(0)";
    there_is_no_match: { match i { _ => {} } } "`match`" "`else if`";
    nor_patterns: { if let Some(s) = x[i] {} } "compare numbers";
    nor_closures: { let f = |s| s; } "device_function";
    nor_strings: { let s = "text"; } "numbers and `bool`";
    nor_references: { let s = &a; } "leave the `&` out";
    nor_structures: { let s = a.0; } "a variable for each field";
    nor_macros: { println!("{}", a); } "assert!";
    nor_labels: { 'outer: for s in 0..3 { break 'outer; } } "no labels";
    nor_values_of_loops: { let s = loop { break 1; }; } "a loop has no value";
    nor_loops_over_anything_but_ranges: { for s in x { } } "a loop goes over a range" "step_by";
    a_range_excludes_its_end: { for s in 0..=3 { } } "excluded end" "b + 1";
    a_range_has_both_ends: { for s in 0.. { } } "a start and an excluded end";
    break_is_for_loops: { break; } "no loop around it" "`return`";
    a_branch_without_else_has_no_value: { let s = if i > 0 { 1.0 }; } "add the `else`";
    a_block_without_a_value_has_none: { let s = if i > 0 { 1.0; } else { 2.0 }; } "leave the semicolon out";
    a_kernel_returns_nothing: { return 1.0; } "leave the value out";
    there_is_no_usize: { let s = i as usize; } "`i64`";
    functions_of_numbers_are_methods: { let s = f32::sqrt(a); } "`x.sqrt(..)`" "`x as f32`";
    memory_of_the_group_has_a_name: { f(Local::new([3])); } "has a name";
    and_extents: { let tile = Local::new(); } "say its extents";
    private_memory_is_a_list: { let own = Private::new([3]); } "`[0.0; 4]`";
    an_array_has_a_name: { f([0.0; 3]); } "an array has a name";
    atomics_are_of_elements: { a.fetch_add(1.0); } "an access to an element";
    atomics_take_so_many_numbers: { y[i][0].swap(); } "`swap` takes 1 numbers";
    items_stand_outside: { fn inner() {} } "`const` and `use`";
    calls_are_of_functions: { a(1.0); } "this is no function";
    numbers_are_passed_as_they_are: { f(&mut i); } "come back as results";
}

#[test]
fn all_errors_of_a_block_are_named() {
    let errors = errors(quote! {
        fn k(item: Item<1>, x: &Global<f32>) {
            x[0] = 1.0;
            let s = match 1 { _ => 2 };
            x[1] = 1.0;
        }
    });
    assert_eq!(errors.len(), 3, "{errors:?}");
}

#[test]
fn signatures_that_no_kernel_has() {
    let cases = [
        (
            quote!(
                fn k(a: f32) {}
            ),
            "the first parameter of a kernel is its item",
        ),
        (
            quote!(
                fn k() {}
            ),
            "`item: Item<1>`",
        ),
        (
            quote!(
                fn k(item: Item) {}
            ),
            "how many dimensions",
        ),
        (
            quote!(
                fn k(item: Item<1>) -> f32 {
                    1.0
                }
            ),
            "returns nothing",
        ),
        (
            quote!(
                fn k(item: Item<1>, x: Global<f32>) {}
            ),
            "by reference",
        ),
        (
            quote!(
                fn k(item: Item<1>, x: &Global) {}
            ),
            "the type of its elements",
        ),
        (
            quote!(
                fn k(item: Item<1>, x: &[f32]) {}
            ),
            "x: &Global<f32>",
        ),
        (
            quote!(
                fn k(item: Item<1>, x: [f32; 3]) {}
            ),
            "the type of a number",
        ),
        (
            quote!(
                fn k(item: Item<1>, n: usize) {}
            ),
            "`i64`",
        ),
        (
            quote!(
                fn k(item: Item<1>, own: &mut Private<f32>) {}
            ),
            "declare it inside",
        ),
        (
            quote!(
                fn k(item: Item<1>, other: Item<1>) {}
            ),
            "one item",
        ),
        (
            quote!(
                fn k(item: Item<1>, (a, b): f32) {}
            ),
            "a parameter is a name",
        ),
        (
            quote!(
                fn k(&self) {}
            ),
            "no `self`",
        ),
        (
            quote!(
                fn k<'a>(item: Item<1>, x: &'a Global<f32>) {}
            ),
            "no lifetimes",
        ),
        (
            quote!(
                unsafe fn k(item: Item<1>) {}
            ),
            "a plain function",
        ),
        (
            quote!(
                async fn k(item: Item<1>) {}
            ),
            "a plain function",
        ),
    ];
    for (tokens, part) in cases {
        let text = tokens.to_string();
        let errors = errors(tokens);
        assert!(errors.iter().any(|error| error.contains(part)), "{text}: {errors:?}");
    }
}

#[test]
fn the_only_argument_is_the_crate() {
    let function = quote!(
        fn k(item: Item<1>) {}
    );
    let error = signature::kernel(quote!(fast), function.clone()).unwrap_err();
    assert!(error.to_string().contains("`crate = path`"), "{error}");
    let expansion = signature::kernel(quote!(crate = other::place), function).unwrap().to_string();
    assert!(expansion.contains("other :: place :: kernel"), "{expansion}");
}

/// An error is about the token that it names, not the whole function.
#[test]
fn errors_stand_at_tokens() {
    let function = "fn k(item: Item<1>, x: &Global<f32>) {\n    let i = 1;\n    x[i] = 1.0;\n}";
    let error = signature::kernel(TokenStream::new(), function.parse().unwrap()).unwrap_err();
    let start = error.span().start();
    assert_eq!((start.line, start.column), (3, 4));
}
