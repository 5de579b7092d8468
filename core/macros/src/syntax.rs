//! What a statement or an expression is: questions about syntax, and the errors that answer what is no kernel.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::{BinOp, Error, Expr, Local, Pat, Result, Stmt, Type};

/// Names of a pattern, with whether they are mutable.
pub(crate) type Names = Vec<(Ident, bool)>;

/// An error at a place in the source.
pub(crate) fn error<T>(at: impl Spanned, message: impl std::fmt::Display) -> Result<T> {
    Err(Error::new(at.span(), message))
}

/// Type of the number that a declaration without a value says.
pub(crate) fn local_number(local: &Local) -> Option<&Type> {
    match &local.pat {
        Pat::Type(typed) => Some(&*typed.ty),
        _ => None,
    }
}

/// A pattern of names, without `mut`.
pub(crate) fn names_of(pattern: &Pat, names: &mut Names) -> Result<TokenStream> {
    match pattern {
        Pat::Ident(pattern) if pattern.by_ref.is_none() && pattern.subpat.is_none() => {
            names.push((pattern.ident.clone(), pattern.mutability.is_some()));
            Ok(pattern.ident.to_token_stream())
        }
        Pat::Wild(_) => Ok(pattern.to_token_stream()),
        Pat::Paren(inner) => names_of(&inner.pat, names),
        Pat::Tuple(tuple) => {
            let all =
                tuple.elems.iter().map(|pattern| names_of(pattern, names)).collect::<Result<Vec<_>>>()?;
            Ok(quote!((#(#all,)*)))
        }
        other => error(other, "a pattern is a name or a tuple of names"),
    }
}

/// An expression without parentheses around it.
pub(crate) fn bare(expression: &Expr) -> &Expr {
    match expression {
        Expr::Paren(inner) => bare(&inner.expr),
        Expr::Group(inner) => bare(&inner.expr),
        other => other,
    }
}

/// An indexed expression and its indices, of `a[i][j]` all.
pub(crate) fn indexed(expression: &Expr) -> Option<(&Expr, Vec<&Expr>)> {
    let Expr::Index(index) = bare(expression) else { return None };
    let (base, mut indices) = indexed(&index.expr).unwrap_or((bare(&index.expr), Vec::new()));
    match bare(&index.index) {
        Expr::Array(list) => indices.extend(&list.elems),
        other => indices.push(other),
    }
    Some((base, indices))
}

pub(crate) fn is_jump(statement: &Stmt) -> bool {
    matches!(statement, Stmt::Expr(Expr::Return(_) | Expr::Break(_) | Expr::Continue(_), _))
}

pub(crate) fn unlabelled(label: Option<&impl ToTokens>) -> Result<()> {
    match label {
        None => Ok(()),
        Some(label) => error(label, "a kernel's loops have no labels: leave the inner loop by a variable"),
    }
}

/// The operation of an assigning operator.
pub(crate) fn assigning(op: &BinOp) -> Option<&'static str> {
    Some(match op {
        BinOp::AddAssign(_) => "add",
        BinOp::SubAssign(_) => "sub",
        BinOp::MulAssign(_) => "mul",
        BinOp::DivAssign(_) => "div",
        BinOp::RemAssign(_) => "rem",
        BinOp::BitAndAssign(_) => "bitand",
        BinOp::BitOrAssign(_) => "bitor",
        BinOp::BitXorAssign(_) => "bitxor",
        BinOp::ShlAssign(_) => "shl",
        BinOp::ShrAssign(_) => "shr",
        _ => return None,
    })
}

/// Tokens as if they stood at a place in the source.
pub(crate) fn placed(tokens: &impl ToTokens, span: Span) -> TokenStream {
    let tokens = tokens.to_token_stream().into_iter();
    tokens
        .map(|mut token| {
            token.set_span(span);
            token
        })
        .collect::<Vec<TokenTree>>()
        .into_iter()
        .collect()
}
