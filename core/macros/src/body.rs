//! Statements.

use std::collections::HashMap;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{
    Block, Error, Expr, ExprForLoop, ExprIf, Item, Lit, Local, Macro, Pat, Path, RangeLimits, Result, Stmt,
    Token, Type,
};

use crate::signature::{check_number, with_lifetime};
use crate::syntax::{
    Names, assigning, bare, error, indexed, is_jump, local_number, names_of, placed, unlabelled,
};

/// What a name of the function stands for.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// A number that stays.
    Value,
    /// A mutable number.
    Variable,
    /// An array.
    Object { writable: bool },
    /// The item.
    Item,
}

impl Kind {
    pub(crate) const fn of(mutable: bool) -> Self {
        if mutable { Self::Variable } else { Self::Value }
    }
}

/// A body that is rewritten.
pub(crate) struct Body<'a> {
    pub(crate) root: &'a Path,
    /// The name of the kernel that is built.
    pub(crate) context: &'a Ident,
    /// Of a device function: the variable for what it returns, if it returns anything.
    function: Option<Option<Ident>>,
    scopes: Vec<HashMap<String, Kind>>,
    loops: usize,
}

/// Where the value of a block goes.
#[derive(Clone, Copy)]
enum Want<'a> {
    Nothing,
    Into(&'a Ident),
}

impl<'a> Body<'a> {
    pub(crate) fn new(root: &'a Path, context: &'a Ident, function: Option<Option<Ident>>) -> Self {
        Self { root, context, function, scopes: vec![HashMap::new()], loops: 0 }
    }

    /// Makes a name known from here on.
    pub(crate) fn bind(&mut self, ident: &Ident, kind: Kind) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(ident.to_string(), kind);
        }
    }

    pub(crate) fn kind(&self, ident: &Ident) -> Option<Kind> {
        let name = ident.to_string();
        self.scopes.iter().rev().find_map(|scope| scope.get(&name).copied())
    }

    /// A call of a function of `support`, all at one place in the source.
    pub(crate) fn support(&self, span: Span, name: &str, arguments: &TokenStream) -> TokenStream {
        let (root, name) = (placed(self.root, span), Ident::new(name, span));
        quote_spanned!(span=> #root::kernel::typed::support::#name(#arguments))
    }

    /// A call of a method of the kernel that is built.
    fn step(&self, span: Span, name: &str, arguments: &TokenStream) -> TokenStream {
        let (context, name) = (self.context, Ident::new(name, span));
        quote_spanned!(span=> #context.#name(#arguments);)
    }

    /// Makes a variable of the value of the same name.
    pub(crate) fn variable(&self, ident: &Ident) -> TokenStream {
        let (context, text) = (self.context, ident.to_string());
        quote_spanned!(ident.span()=> let #ident = #context.variable(#text, #ident);)
    }

    /// The body of the function.
    pub(crate) fn statements(&mut self, block: &Block) -> Result<TokenStream> {
        match self.function.clone().flatten() {
            Some(result) => self.block(block, Want::Into(&result)),
            None => self.block(block, Want::Nothing),
        }
    }

    fn block(&mut self, block: &Block, want: Want<'_>) -> Result<TokenStream> {
        self.scopes.push(HashMap::new());
        let mut tokens = TokenStream::new();
        let mut outcome = Ok(());
        for (number, statement) in block.stmts.iter().enumerate() {
            let is_last = number + 1 == block.stmts.len();
            let made = match (statement, want) {
                (Stmt::Expr(value, None), Want::Into(variable)) if is_last => self.put(value, variable),
                (_, Want::Into(_)) if is_last && !is_jump(statement) => {
                    error(statement, "a value is expected at the end of this block: leave the semicolon out")
                }
                _ => self.statement(statement),
            };
            match (made, &mut outcome) {
                (Ok(made), _) => tokens.extend(made),
                (Err(error), Err(errors)) => Error::combine(errors, error),
                (Err(error), outcome) => *outcome = Err(error),
            }
        }
        self.scopes.pop();
        if let (true, Want::Into(_)) = (block.stmts.is_empty(), want) {
            return error(block, "a value is expected of this block");
        }
        outcome.map(|()| quote!({ #tokens }))
    }

    fn statement(&mut self, statement: &Stmt) -> Result<TokenStream> {
        match statement {
            Stmt::Local(local) => self.local(local),
            Stmt::Item(item @ (Item::Const(_) | Item::Use(_))) => Ok(item.to_token_stream()),
            Stmt::Item(other) => {
                error(other, "a kernel's body has no items but `const` and `use`: put it beside the function")
            }
            Stmt::Expr(expression, _) => self.effect(expression),
            Stmt::Macro(statement) => self.assertion(&statement.mac),
        }
    }

    /// An expression for what it does.
    fn effect(&mut self, expression: &Expr) -> Result<TokenStream> {
        let span = expression.span();
        match expression {
            Expr::If(branch) => self.branch(branch, Want::Nothing),
            Expr::Block(inner) if inner.label.is_none() => self.block(&inner.block, Want::Nothing),
            Expr::While(inner) => {
                unlabelled(inner.label.as_ref())?;
                let condition = self.condition(&inner.cond)?;
                let (open, body) = (self.step(span, "while_", &quote!()), self.looped(&inner.body)?);
                let test = self.step(inner.cond.span(), "do_", &quote!(condition));
                let end = self.step(span, "end_loop", &quote!());
                Ok(quote!({ #open { let condition = #condition; #test } #body #end }))
            }
            Expr::Loop(inner) => {
                unlabelled(inner.label.as_ref())?;
                let (open, body) = (self.step(span, "loop_", &quote!()), self.looped(&inner.body)?);
                let end = self.step(span, "end_loop", &quote!());
                Ok(quote!({ #open #body #end }))
            }
            Expr::ForLoop(inner) => self.for_loop(inner),
            Expr::Break(inner) => {
                unlabelled(inner.label.as_ref())?;
                if let Some(value) = &inner.expr {
                    return error(value, "a loop has no value: assign it to a variable before the `break`");
                }
                self.in_loop(span)?;
                Ok(self.step(span, "break_", &quote!()))
            }
            Expr::Continue(inner) => {
                unlabelled(inner.label.as_ref())?;
                self.in_loop(span)?;
                Ok(self.step(span, "continue_", &quote!()))
            }
            Expr::Return(inner) => {
                let result = self.function.clone().flatten();
                let set = match (&inner.expr, &result) {
                    (Some(value), Some(result)) => self.put(value, result)?,
                    (Some(value), None) => {
                        return error(value, "nothing is returned here: leave the value out");
                    }
                    (None, Some(_)) => return error(inner, "a value is returned here: `return x;`"),
                    (None, None) => TokenStream::new(),
                };
                let leave = self.step(span, "return_", &quote!());
                Ok(quote!({ #set #leave }))
            }
            Expr::Assign(inner) => self.assign(&inner.left, &inner.right),
            Expr::Binary(inner) if let Some(name) = assigning(&inner.op) => {
                self.update(&inner.left, name, inner.op.span(), &inner.right)
            }
            Expr::Macro(inner) => self.assertion(&inner.mac),
            Expr::Paren(inner) => self.effect(&inner.expr),
            Expr::MethodCall(_) | Expr::Call(_) => {
                let value = self.value(expression)?;
                Ok(quote_spanned!(span=> let _ = #value;))
            }
            _ => {
                let value = self.value(expression)?;
                Ok(quote_spanned!(span=> let _ = #value;))
            }
        }
    }

    /// Gives a variable the value of an expression, which may be a branch or block.
    fn put(&mut self, expression: &Expr, variable: &Ident) -> Result<TokenStream> {
        match expression {
            Expr::If(branch) => self.branch(branch, Want::Into(variable)),
            Expr::Block(inner) if inner.label.is_none() => self.block(&inner.block, Want::Into(variable)),
            Expr::Return(_) | Expr::Break(_) | Expr::Continue(_) => self.effect(expression),
            _ => {
                let value = self.value(expression)?;
                Ok(quote_spanned!(expression.span()=> #variable.set(#value);))
            }
        }
    }

    /// A branch or block as a value.
    pub(crate) fn value_of_block(&mut self, expression: &Expr) -> Result<TokenStream> {
        let variable = Ident::new("value", Span::mixed_site());
        let inside = self.put(expression, &variable)?;
        let declare = self.step(expression.span(), "declare", &quote!("value"));
        Ok(quote_spanned!(expression.span()=> { let #variable = #declare #inside #variable.get() }))
    }

    fn branch(&mut self, branch: &ExprIf, want: Want<'_>) -> Result<TokenStream> {
        let span = branch.if_token.span;
        let condition = self.condition(&branch.cond)?;
        let open = self.step(branch.cond.span(), "if_", &condition);
        let then = self.block(&branch.then_branch, want)?;
        let end = self.step(span, "end", &quote!());
        let Some((token, otherwise)) = &branch.else_branch else {
            if let Want::Into(_) = want {
                return error(branch, "an `if` without `else` has no value: add the `else`");
            }
            return Ok(quote!({ #open #then #end }));
        };
        let middle = self.step(token.span, "else_", &quote!());
        let otherwise = match want {
            Want::Nothing => self.effect(otherwise)?,
            Want::Into(variable) => self.put(otherwise, variable)?,
        };
        Ok(quote!({ #open #then #middle #otherwise #end }))
    }

    /// The condition of a branch or loop.
    fn condition(&mut self, condition: &Expr) -> Result<TokenStream> {
        if let Expr::Let(inner) = condition {
            return error(inner.let_token, "a kernel has no patterns: compare numbers");
        }
        self.value(condition)
    }

    /// The body of a loop.
    fn looped(&mut self, body: &Block) -> Result<TokenStream> {
        self.loops += 1;
        let tokens = self.block(body, Want::Nothing);
        self.loops -= 1;
        tokens
    }

    fn in_loop(&self, span: Span) -> Result<()> {
        if self.loops > 0 {
            Ok(())
        } else {
            Err(Error::new(span, "there is no loop around it: use `return`"))
        }
    }

    fn for_loop(&mut self, inner: &ExprForLoop) -> Result<TokenStream> {
        unlabelled(inner.label.as_ref())?;
        let ident = match &*inner.pat {
            Pat::Ident(pattern) if pattern.mutability.is_none() && pattern.subpat.is_none() => {
                Some(&pattern.ident)
            }
            Pat::Wild(_) => None,
            other => {
                return error(other, "a loop counts in one name that stays: `for i in 0..n`");
            }
        };
        let (range, method) = match bare(&inner.expr) {
            Expr::MethodCall(call) if call.method == "step_by" || call.method == "rev" => {
                (bare(&call.receiver), Some(call))
            }
            other => (other, None),
        };
        let (Expr::Range(range), true) = (range, method.is_none_or(|call| call.args.len() < 2)) else {
            return error(
                &inner.expr,
                "a loop goes over a range: `for i in a..b`, `(a..b).step_by(n)` or `(a..b).rev()`",
            );
        };
        let (Some(start), Some(end), RangeLimits::HalfOpen(_)) = (&range.start, &range.end, &range.limits)
        else {
            return error(range, "a range of a loop has a start and an excluded end: `a..b`, `a..b + 1`");
        };
        let (start, end) = (self.value(start)?, self.value(end)?);
        let (name, step) = match method {
            None => ("for_", quote!(, ::core::option::Option::None)),
            Some(call) if let Some(step) = call.args.first() => {
                let step = self.value(step)?;
                ("for_", quote!(, ::core::option::Option::Some(#step)))
            }
            Some(call) if call.method == "rev" => ("for_reversed", quote!()),
            Some(call) => return error(call, "say the step: `(a..b).step_by(n)`"),
        };
        let span = inner.for_token.span;
        let open = self.step(span, name, &quote!(#start, #end #step));
        self.scopes.push(HashMap::new());
        let name = match ident {
            Some(ident) => {
                self.bind(ident, Kind::Value);
                ident.to_token_stream()
            }
            None => quote!(_),
        };
        let body = self.looped(&inner.body);
        self.scopes.pop();
        let (body, end) = (body?, self.step(span, "end_loop", &quote!()));
        Ok(quote!({ let #name = #open #body #end }))
    }

    fn assertion(&mut self, invocation: &Macro) -> Result<TokenStream> {
        if !invocation.path.is_ident("assert") {
            return error(&invocation.path, "a kernel has no macros but `assert!(condition, \"message\")`");
        }
        let arguments =
            invocation.parse_body_with(syn::punctuated::Punctuated::<Expr, Token![,]>::parse_terminated)?;
        let (condition, message) = match arguments.iter().collect::<Vec<_>>()[..] {
            [condition] => (condition, condition.to_token_stream().to_string()),
            [condition, Expr::Lit(message)] if let Lit::Str(text) = &message.lit => (condition, text.value()),
            _ => {
                return error(
                    invocation,
                    "an assertion is a condition and, if you like, a text without `{}`",
                );
            }
        };
        let condition = self.value(condition)?;
        Ok(self.step(invocation.span(), "assert", &quote!(#condition, #message)))
    }

    fn local(&mut self, local: &Local) -> Result<TokenStream> {
        let (pattern, ty) = match &local.pat {
            Pat::Type(typed) => (&*typed.pat, Some(&*typed.ty)),
            other => (other, None),
        };
        let mut names = Names::new();
        let shape = names_of(pattern, &mut names)?;
        let ty = ty.map(|ty| self.ty(ty)).transpose()?;
        let single = match pattern {
            Pat::Ident(pattern) => Some(&pattern.ident),
            _ => None,
        };
        let Some(init) = &local.init else {
            let Some(ident) = single else {
                return error(local, "a declaration without a value has one name");
            };
            self.bind(ident, Kind::Variable);
            let text = ident.to_string();
            let declare = self.step(ident.span(), "declare", &quote!(#text));
            let root = self.root;
            let number = local_number(local);
            let ty = number.map(|ty| quote!(: #root::kernel::typed::Var<'_, #ty>));
            return Ok(quote_spanned!(ident.span()=> let #ident #ty = #declare));
        };
        if let Some((token, _)) = &init.diverge {
            return error(token, "a kernel has no patterns that may not fit: write `if` instead");
        }
        let object = match single {
            Some(ident) => self.object(ident, bare(&init.expr))?,
            None => None,
        };
        let is_object = object.is_some();
        let value = match object {
            Some(object) => object,
            None => self.value(&init.expr)?,
        };
        let ty = ty.map(|ty| quote!(: #ty));
        let mut tokens = quote_spanned!(local.let_token.span=> let #shape #ty = #value;);
        for (ident, mutable) in names {
            if is_object {
                let writable = mutable || !matches!(bare(&init.expr), Expr::Array(_) | Expr::Repeat(_));
                self.bind(&ident, Kind::Object { writable });
                continue;
            }
            self.bind(&ident, Kind::of(mutable));
            if mutable {
                tokens.extend(self.variable(&ident));
            }
        }
        Ok(tokens)
    }

    /// Memory that a `let` declares, where it does.
    fn object(&mut self, ident: &Ident, init: &Expr) -> Result<Option<TokenStream>> {
        let (context, text, span) = (self.context, ident.to_string(), ident.span());
        match init {
            Expr::Array(list) => {
                if let Some(inner) = list.elems.iter().find(|e| matches!(e, Expr::Array(_) | Expr::Repeat(_)))
                {
                    return error(
                        inner,
                        "lists have one dimension here: write a `const` array, or `[[0.0; 3]; 4]` and assignments",
                    );
                }
                let elements = list.elems.iter().map(|e| self.value(e)).collect::<Result<Vec<_>>>()?;
                Ok(Some(self.support(span, "private_list", &quote!(#context, #text, &[#(#elements),*]))))
            }
            Expr::Repeat(_) => {
                let (mut extents, mut fill) = (Vec::new(), init);
                while let Expr::Repeat(repeat) = bare(fill) {
                    extents.push(&repeat.len);
                    fill = &repeat.expr;
                }
                let fill = self.value(fill)?;
                Ok(Some(self.support(span, "private_of", &quote!(#context, #text, #fill, [#(#extents),*]))))
            }
            Expr::Call(call) if let Expr::Path(function) = &*call.func => {
                let path = &function.path;
                let names: Vec<String> =
                    path.segments.iter().map(|segment| segment.ident.to_string()).collect();
                let [.., family, "new"] = names.iter().map(String::as_str).collect::<Vec<_>>()[..] else {
                    return Ok(None);
                };
                match (family, call.args.first(), call.args.len()) {
                    ("Local", Some(extents), 1) => {
                        let mut path = path.clone();
                        path.segments.pop();
                        path.segments.pop_punct();
                        Ok(Some(quote_spanned!(span=> #path::declare(#context, #text, #extents))))
                    }
                    ("Local", ..) => error(call, "say its extents: `Local::new([16, 16])`"),
                    ("Private", ..) => error(call, "an array of the item's own is `[0.0; 4]`"),
                    _ => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }

    /// The type of a declaration.
    fn ty(&self, ty: &Type) -> Result<TokenStream> {
        let root = self.root;
        match ty {
            Type::Infer(_) => Ok(ty.to_token_stream()),
            Type::Paren(inner) => self.ty(&inner.elem),
            Type::Tuple(tuple) => {
                let all = tuple.elems.iter().map(|ty| self.ty(ty)).collect::<Result<Vec<_>>>()?;
                Ok(quote!((#(#all,)*)))
            }
            Type::Array(_) => {
                let (mut dims, mut element) = (0_usize, ty);
                while let Type::Array(array) = element {
                    (dims, element) = (dims + 1, &array.elem);
                }
                check_number(element)?;
                Ok(quote_spanned!(ty.span()=> #root::kernel::typed::Private<'_, #element, #dims>))
            }
            Type::Path(path)
                if path
                    .path
                    .segments
                    .last()
                    .is_some_and(|last| last.ident == "Local" || last.ident == "Private") =>
            {
                Ok(with_lifetime(ty, &quote!('_)))
            }
            other => {
                check_number(other)?;
                Ok(quote_spanned!(ty.span()=> #root::kernel::typed::Expr<'_, #other>))
            }
        }
    }

    fn assign(&mut self, left: &Expr, right: &Expr) -> Result<TokenStream> {
        match bare(left) {
            Expr::Tuple(tuple) => {
                let value = self.value(right)?;
                let (mut names, mut tokens) = (Vec::new(), TokenStream::new());
                for (number, place) in tuple.elems.iter().enumerate() {
                    let name = Ident::new(&format!("part_{number}"), Span::mixed_site());
                    tokens.extend(self.write(place, &name.to_token_stream())?);
                    names.push(name);
                }
                Ok(quote_spanned!(left.span()=> { let (#(#names,)*) = #value; #tokens }))
            }
            Expr::Infer(_) => self.effect(right),
            place => {
                if let (Expr::If(_) | Expr::Block(_), Some(ident)) = (right, self.variable_of(place)?) {
                    return self.put(right, ident);
                }
                let (value, name) = (self.value(right)?, Ident::new("assigned", beside(right)));
                let write = self.write(place, &name.to_token_stream())?;
                Ok(quote_spanned!(left.span()=> { let #name = #value; #write }))
            }
        }
    }

    /// `left op= right`.
    fn update(&mut self, left: &Expr, name: &str, span: Span, right: &Expr) -> Result<TokenStream> {
        let value = self.value(right)?;
        let operand = Ident::new("operand", beside(right));
        let place = bare(left);
        if let Some(ident) = self.variable_of(place)? {
            let sum = self.support(span, name, &quote!(#ident.get(), #operand));
            return Ok(quote_spanned!(span=> { let #operand = #value; #ident.set(#sum); }));
        }
        let Some((base, indices)) = self.element(place)? else {
            return error(left, "a variable or an element is expected: `x += 1`, `a[i] += 1`");
        };
        let at = Ident::new("at", Span::mixed_site());
        let load = quote_spanned!(left.span()=> #base.load(#at));
        let sum = self.support(span, name, &quote!(#load, #operand));
        Ok(
            quote_spanned!(left.span()=> { let #operand = #value; let #at = #indices; #base.store(#at, #sum); }),
        )
    }

    /// Writes a value to a variable or an element.
    fn write(&mut self, place: &Expr, value: &TokenStream) -> Result<TokenStream> {
        let place = bare(place);
        if let Some(ident) = self.variable_of(place)? {
            return Ok(quote_spanned!(place.span()=> #ident.set(#value);));
        }
        match self.element(place)? {
            Some((base, indices)) => Ok(quote_spanned!(place.span()=> #base.store(#indices, #value);)),
            None => error(place, "a variable or an element is expected: `x = 1`, `a[i] = 1`"),
        }
    }

    /// The name of a mutable variable, where an expression is a name.
    fn variable_of<'e>(&self, place: &'e Expr) -> Result<Option<&'e Ident>> {
        let Expr::Path(path) = place else { return Ok(None) };
        let Some(ident) = path.path.get_ident() else { return Ok(None) };
        match self.kind(ident) {
            Some(Kind::Variable) => Ok(Some(ident)),
            Some(Kind::Value) => {
                error(ident, format_args!("`{ident}` is not mutable: declare it with `let mut {ident}`"))
            }
            Some(Kind::Object { .. }) => {
                error(ident, format_args!("`{ident}` is an array: assign to an element, `{ident}[i] = x`"))
            }
            Some(Kind::Item) => error(ident, "the item cannot be assigned to"),
            None => {
                error(ident, format_args!("`{ident}` is no variable of this kernel: kernels write to arrays"))
            }
        }
    }

    /// An array that may be written, and the indices of one of its elements, where an expression is one.
    fn element(&mut self, place: &Expr) -> Result<Option<(TokenStream, TokenStream)>> {
        let Some((base, indices)) = indexed(place) else { return Ok(None) };
        let ident = self.array(base, true)?;
        Ok(Some((ident.to_token_stream(), self.indices(&indices)?)))
    }
}

/// A name of the expansion's own, which errors about its value place at an expression.
fn beside(expression: &Expr) -> Span {
    Span::mixed_site().located_at(expression.span())
}
