//! Expressions.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{BinOp, Expr, ExprBinary, ExprCall, ExprMethodCall, Lit, Path, PathArguments, Result, UnOp};

use crate::body::{Body, Kind};
use crate::signature::check_number;
use crate::syntax::{bare, error, indexed};

/// Methods whose arguments are numbers and names of the program around the kernel.
const OUTSIDE: &[&str] = &[
    "global_id",
    "local_id",
    "group_id",
    "global_range",
    "local_range",
    "group_range",
    "extent",
    "barrier_of",
    "fence",
];
/// Methods that wait, or read or write memory.
const NOT_PURE: &[&str] = &[
    "barrier",
    "barrier_of",
    "fence",
    "all",
    "any",
    "broadcast",
    "reduce_sum",
    "reduce_product",
    "reduce_min",
    "reduce_max",
    "reduce_and",
    "reduce_or",
    "inclusive_sum",
    "exclusive_sum",
    "inclusive_min",
    "inclusive_max",
];
/// Atomic accesses, with the numbers that they take.
const ATOMICS: &[(&str, usize)] = &[
    ("fetch_add", 1),
    ("fetch_sub", 1),
    ("fetch_min", 1),
    ("fetch_max", 1),
    ("fetch_and", 1),
    ("fetch_or", 1),
    ("fetch_xor", 1),
    ("swap", 1),
    ("compare_exchange", 2),
    ("atomic_load", 0),
    ("atomic_store", 1),
];
/// Types of numbers that have functions, which a kernel has as methods.
const NUMBERS: &[&str] = &[
    "bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "usize", "isize", "f16", "bf16", "f32",
    "f64",
];

impl Body<'_> {
    /// An expression as a number.
    pub(crate) fn value(&mut self, expression: &Expr) -> Result<TokenStream> {
        let (span, context) = (expression.span(), self.context);
        match expression {
            Expr::Paren(inner) => self.value(&inner.expr),
            Expr::Group(inner) => self.value(&inner.expr),
            Expr::Lit(literal) => match &literal.lit {
                Lit::Int(_) | Lit::Float(_) | Lit::Bool(_) | Lit::Byte(_) => {
                    Ok(self.support(span, "lit", &quote!(#context, #literal)))
                }
                _ => error(literal, "a kernel computes with numbers and `bool` only"),
            },
            Expr::Path(path) => self.name(&path.path, path),
            Expr::Unary(unary) => match (&unary.op, bare(&unary.expr)) {
                (UnOp::Neg(_), Expr::Lit(literal)) if matches!(literal.lit, Lit::Int(_) | Lit::Float(_)) => {
                    Ok(self.support(span, "lit", &quote!(#context, -#literal)))
                }
                (UnOp::Neg(_), operand) => {
                    let operand = self.value(operand)?;
                    Ok(self.support(unary.op.span(), "neg", &operand))
                }
                (UnOp::Not(_), operand) => {
                    let operand = self.value(operand)?;
                    Ok(self.support(unary.op.span(), "not", &operand))
                }
                _ => error(unary, "a kernel has no references: leave the `*` out"),
            },
            Expr::Binary(binary) => self.binary(binary),
            Expr::Cast(cast) => {
                check_number(&cast.ty)?;
                let (value, ty) = (self.value(&cast.expr)?, &cast.ty);
                let (root, context) = (self.root, Ident::new("cast", cast.as_token.span));
                Ok(
                    quote_spanned!(cast.as_token.span=> #root::kernel::typed::support::#context::<_, #ty>(#value)),
                )
            }
            Expr::Index(_) => {
                let Some((base, indices)) = indexed(expression) else {
                    return error(expression, "only arrays are indexed");
                };
                let at = self.indices(&indices)?;
                if let Some(constant) = self.constant(base) {
                    let text = constant.to_token_stream().to_string();
                    return Ok(self.support(
                        span,
                        "load_constant",
                        &quote!(#context, #text, &#constant, #at),
                    ));
                }
                let array = self.array(base, false)?;
                Ok(quote_spanned!(span=> #array.load(#at)))
            }
            Expr::MethodCall(call) => self.method(call),
            Expr::Call(call) => self.call(call),
            Expr::If(_) | Expr::Block(_) => self.value_of_block(expression),
            Expr::Tuple(tuple) => {
                let parts = tuple.elems.iter().map(|part| self.value(part)).collect::<Result<Vec<_>>>()?;
                Ok(quote!((#(#parts,)*)))
            }
            Expr::Match(_) => error(expression, "a kernel has no `match`: write `if` and `else if`"),
            Expr::Closure(_) => {
                error(expression, "a kernel has no closures: write a function with `device_function`")
            }
            Expr::Reference(_) => error(
                expression,
                "a kernel has no references but those of arrays, in calls: leave the `&` out",
            ),
            Expr::Array(_) | Expr::Repeat(_) => {
                error(expression, "an array has a name: `let mut sums = [0.0; 4];`")
            }
            Expr::Range(_) => error(expression, "a range is for loops: `for i in a..b`"),
            Expr::While(_) | Expr::Loop(_) | Expr::ForLoop(_) => {
                error(expression, "a loop has no value: assign to a variable inside")
            }
            Expr::Assign(_) | Expr::Break(_) | Expr::Continue(_) | Expr::Return(_) => {
                error(expression, "this has no value: make it a statement of its own")
            }
            Expr::Struct(_) | Expr::Field(_) => {
                error(expression, "a kernel has no structures: use a variable for each field")
            }
            Expr::Macro(_) => error(expression, "a kernel has no macros that give a value"),
            Expr::Unsafe(_) => error(expression, "nothing in a kernel is `unsafe`: leave it out"),
            other => error(other, "a kernel has no such expression: see the documentation of `kernel`"),
        }
    }

    /// A name as a number: one of the function, or a constant around it.
    fn name(&self, path: &Path, tokens: &impl ToTokens) -> Result<TokenStream> {
        let span = path.span();
        let context = self.context;
        let Some(ident) = path.get_ident() else {
            return Ok(self.support(span, "capture", &quote!(#context, #tokens)));
        };
        match self.kind(ident) {
            None => Ok(self.support(span, "capture", &quote!(#context, #tokens))),
            Some(Kind::Value) => Ok(ident.to_token_stream()),
            Some(Kind::Variable) => Ok(quote_spanned!(span=> #ident.get())),
            Some(Kind::Object { .. }) => {
                error(ident, format_args!("`{ident}` is an array: take an element, `{ident}[i]`"))
            }
            Some(Kind::Item) => {
                error(ident, format_args!("the item is no number: `{ident}.global_id(0)` is one"))
            }
        }
    }

    /// The path of a constant array, where an expression is one: a name that is none of the function's.
    fn constant<'e>(&self, base: &'e Expr) -> Option<&'e Path> {
        let Expr::Path(path) = base else { return None };
        match path.path.get_ident() {
            Some(ident) if self.kind(ident).is_some() => None,
            _ => Some(&path.path),
        }
    }

    /// The name of an array.
    pub(crate) fn array<'e>(&self, base: &'e Expr, to_write: bool) -> Result<&'e Ident> {
        let ident = match base {
            Expr::Path(path) => path.path.get_ident(),
            _ => None,
        };
        let Some(ident) = ident else {
            return error(base, "only arrays that have a name are indexed");
        };
        match self.kind(ident) {
            Some(Kind::Object { writable: false }) if to_write => {
                let message = format!(
                    "`{ident}` is read-only: declare it `{ident}: &mut Global<..>`, or `let mut {ident}`"
                );
                error(ident, message)
            }
            Some(Kind::Object { .. }) => Ok(ident),
            Some(Kind::Value | Kind::Variable) => {
                error(ident, format_args!("`{ident}` is a number, and has no elements: index an array"))
            }
            Some(Kind::Item) => {
                error(ident, "the item has no elements: its ids are `item.global_id(0)` and so on")
            }
            None => {
                error(ident, format_args!("`{ident}` is no array of this kernel, so it cannot be written"))
            }
        }
    }

    /// Indices as a tuple.
    pub(crate) fn indices(&mut self, indices: &[&Expr]) -> Result<TokenStream> {
        let span = indices.first().map_or_else(Span::call_site, |index| index.span());
        let indices = indices.iter().map(|index| self.value(index)).collect::<Result<Vec<_>>>()?;
        Ok(quote_spanned!(span=> (#(#indices,)*)))
    }

    fn binary(&mut self, binary: &ExprBinary) -> Result<TokenStream> {
        let (span, context) = (binary.op.span(), self.context);
        let name = match &binary.op {
            BinOp::Add(_) => "add",
            BinOp::Sub(_) => "sub",
            BinOp::Mul(_) => "mul",
            BinOp::Div(_) => "div",
            BinOp::Rem(_) => "rem",
            BinOp::BitAnd(_) => "bitand",
            BinOp::BitOr(_) => "bitor",
            BinOp::BitXor(_) => "bitxor",
            BinOp::Shl(_) => "shl",
            BinOp::Shr(_) => "shr",
            BinOp::Eq(_) => "eq",
            BinOp::Ne(_) => "ne",
            BinOp::Lt(_) => "lt",
            BinOp::Le(_) => "le",
            BinOp::Gt(_) => "gt",
            BinOp::Ge(_) => "ge",
            BinOp::And(_) | BinOp::Or(_) => {
                let is_and = matches!(binary.op, BinOp::And(_));
                let (left, right) = (self.value(&binary.left)?, self.value(&binary.right)?);
                if self.is_pure(&binary.right) {
                    let name = if is_and { "bitand" } else { "bitor" };
                    return Ok(self.support(span, name, &quote!(#left, #right)));
                }
                // What must not be computed is behind a branch.
                let variable = Ident::new("condition", Span::mixed_site());
                let first = self.support(span, "first", &quote!(#context, #left));
                let get = quote_spanned!(span=> #variable.get());
                let goes_on = if is_and { get.clone() } else { self.support(span, "not", &get) };
                return Ok(quote_spanned!(span=> {
                    let #variable = #first;
                    #context.if_(#goes_on);
                    #variable.set(#right);
                    #context.end();
                    #variable.get()
                }));
            }
            _ => return error(binary, "an assignment has no value: make it a statement of its own"),
        };
        let (left, right) = (self.value(&binary.left)?, self.value(&binary.right)?);
        Ok(self.support(span, name, &quote!(#left, #right)))
    }

    /// Whether it is all the same if an expression is computed or not: it reads no memory, and calls nothing.
    fn is_pure(&self, expression: &Expr) -> bool {
        match bare(expression) {
            Expr::Lit(_) | Expr::Path(_) => true,
            Expr::Unary(unary) => self.is_pure(&unary.expr),
            Expr::Binary(binary) => self.is_pure(&binary.left) && self.is_pure(&binary.right),
            Expr::Cast(cast) => self.is_pure(&cast.expr),
            Expr::MethodCall(call) => {
                !NOT_PURE.iter().any(|name| call.method == name)
                    && self.is_pure(&call.receiver)
                    && call.args.iter().all(|argument| self.is_pure(argument))
            }
            _ => false,
        }
    }

    fn method(&mut self, call: &ExprMethodCall) -> Result<TokenStream> {
        let (method, span) = (&call.method, call.method.span());
        if let Some(turbofish) = &call.turbofish {
            return error(turbofish, "leave the types out: they follow from the operands");
        }
        let atomic = ATOMICS.iter().find(|(name, _)| method == name);
        if let Some(&(name, count)) = atomic {
            let Some((base, indices)) = indexed(&call.receiver) else {
                return error(
                    &call.receiver,
                    format_args!("`{name}` is an access to an element: `a[i].{name}(..)`"),
                );
            };
            let array = self.array(base, name != "atomic_load")?;
            let at = self.indices(&indices)?;
            let mut arguments = Vec::new();
            for argument in call.args.iter().take(count) {
                arguments.push(self.value(argument)?);
            }
            let ordering = match call.args.iter().skip(count).collect::<Vec<_>>()[..] {
                [] if arguments.len() == count => quote!(::core::option::Option::None),
                [order, scope] => quote!(::core::option::Option::Some((#order, #scope))),
                _ => {
                    let message = format!(
                        "`{name}` takes {count} numbers and, if you like, a `MemoryOrder` and a `MemoryScope`"
                    );
                    return error(method, message);
                }
            };
            return Ok(quote_spanned!(span=> #array.#method(#at, #(#arguments,)* #ordering)));
        }
        let receiver = match bare(&call.receiver) {
            Expr::Path(path) if let Some(ident) = path.path.get_ident() => match self.kind(ident) {
                Some(Kind::Object { .. } | Kind::Item) => ident.to_token_stream(),
                _ => self.value(&call.receiver)?,
            },
            other => self.value(other)?,
        };
        let arguments = if OUTSIDE.iter().any(|name| method == name) {
            call.args.iter().map(ToTokens::to_token_stream).collect()
        } else {
            call.args.iter().map(|argument| self.value(argument)).collect::<Result<Vec<_>>>()?
        };
        Ok(quote_spanned!(span=> #receiver.#method(#(#arguments),*)))
    }

    /// A call of a device function.
    fn call(&mut self, call: &ExprCall) -> Result<TokenStream> {
        let Expr::Path(function) = &*call.func else {
            return error(&call.func, "only functions with the attribute `device_function` are called");
        };
        let path = &function.path;
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        match names.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [.., "Local", "new"] => {
                return error(
                    path,
                    "memory of the group has a name: `let tile: Local<f32> = Local::new([256]);`",
                );
            }
            [.., ty, method] if NUMBERS.contains(&ty) => {
                let message = format!(
                    "a kernel calls functions of numbers as methods, `x.{method}(..)`, and converts by `x as {ty}`"
                );
                return error(path, message);
            }
            _ => {}
        }
        if let Some(ident) = path.get_ident()
            && self.kind(ident).is_some()
        {
            return error(
                ident,
                "this is no function: functions of a kernel have the attribute `device_function`",
            );
        }
        let mut path = path.clone();
        let generics = match path.segments.last_mut() {
            Some(last) => std::mem::take(&mut last.arguments),
            None => PathArguments::None,
        };
        let generics = match generics {
            PathArguments::AngleBracketed(arguments) => {
                let arguments = &arguments.args;
                Some(quote!(::<#arguments>))
            }
            _ => None,
        };
        let arguments =
            call.args.iter().map(|argument| self.argument(argument)).collect::<Result<Vec<_>>>()?;
        let (context, span) = (self.context, path.span());
        Ok(quote_spanned!(span=> #path::call #generics (#(#arguments,)* #context.site())))
    }

    /// An argument of a call: an array, the item or a number.
    fn argument(&mut self, argument: &Expr) -> Result<TokenStream> {
        let (inner, to_write) = match bare(argument) {
            Expr::Reference(reference) => (bare(&reference.expr), Some(reference.mutability.is_some())),
            other => (other, None),
        };
        if let Expr::Path(path) = inner
            && let Some(ident) = path.path.get_ident()
            && let Some(kind @ (Kind::Object { .. } | Kind::Item)) = self.kind(ident)
        {
            if let (Some(true), Kind::Object { writable: false }) = (to_write, kind) {
                return error(
                    ident,
                    format_args!("`{ident}` is read-only: declare it `{ident}: &mut Global<..>`"),
                );
            }
            return Ok(ident.to_token_stream());
        }
        match to_write {
            Some(_) => {
                error(argument, "numbers are passed as they are, and come back as results: leave the `&` out")
            }
            None => self.value(argument),
        }
    }
}
