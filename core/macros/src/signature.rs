//! The function around a body: its parameters, and what stands in its place.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::parse::Parser;
use syn::spanned::Spanned;
use syn::{
    Attribute, Error, FnArg, GenericArgument, GenericParam, ItemFn, Pat, Path, PathArguments, Result,
    ReturnType, Safety, Type, TypeReference,
};

use crate::body::{Body, Kind};

/// A parameter.
struct Parameter {
    ident: Option<Ident>,
    ty: Type,
    role: Role,
}

enum Role {
    Item,
    Object { family: Family, writable: bool },
    Scalar { mutable: bool },
}

#[derive(Clone, Copy, PartialEq)]
enum Family {
    Global,
    Local,
    Private,
}

/// The crate that the expansion calls.
fn root(attribute: TokenStream) -> Result<Path> {
    let mut root = syn::parse_quote!(::stridewise);
    let parser = syn::meta::parser(|meta| {
        if meta.path.is_ident("crate") {
            root = meta.value()?.parse()?;
            return Ok(());
        }
        Err(meta.error("the only argument is `crate = path`, where the crate `stridewise` is"))
    });
    parser.parse2(attribute)?;
    Ok(root)
}

/// The expansion of `kernel`.
pub(crate) fn kernel(attribute: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let root = root(attribute)?;
    let function: ItemFn = syn::parse2(item)?;
    check(&function)?;
    if let ReturnType::Type(_, ty) = &function.sig.output {
        return Err(Error::new(ty.span(), "a kernel returns nothing: write results to a `&mut Global<..>`"));
    }
    let parameters = parameters(&function)?;
    let name = &function.sig.ident;
    let (first, rest) = match parameters.split_first() {
        Some((first, rest)) if matches!(first.role, Role::Item) => (first, rest),
        _ => {
            let message = "the first parameter of a kernel is its item: `item: Item<1>`, for an index space of one \
                           dimension";
            return Err(Error::new(name.span(), message));
        }
    };
    let context = Ident::new("context", Span::mixed_site());
    let mut body = Body::new(&root, &context, None);
    let mut lets = TokenStream::new();
    for parameter in rest {
        lets.extend(bind(parameter, &mut body)?);
    }
    let item = bind_name(first, &mut body, Kind::Item);
    let dims = generic_arguments(&first.ty).and_then(|mut all| all.next().cloned());
    let Some(dims) = dims else {
        return Err(Error::new(first.ty.span(), "say how many dimensions the index space has: `Item<1>`"));
    };
    let item_type = with_lifetime(&first.ty, &quote!('_));
    let statements = body.statements(&function.block)?;

    let (queue, range) = (Ident::new("queue", Span::mixed_site()), Ident::new("range", Span::mixed_site()));
    let (mut declared, mut given) = (Vec::new(), Vec::new());
    for (number, parameter) in rest.iter().enumerate() {
        let ident = parameter.ident.clone().unwrap_or_else(|| format_ident!("unnamed_{number}"));
        let (ty, argument) = outside(parameter, &ident, &root)?;
        declared.push(quote!(#ident: #ty));
        given.push(argument);
    }
    let visibility = &function.vis;
    let (docs, others): (Vec<&Attribute>, Vec<&Attribute>) =
        function.attrs.iter().partition(|attribute| attribute.path().is_ident("doc"));
    let generics = &function.sig.generics;
    let (impl_generics, _, clause) = generics.split_for_impl();
    let (arguments, instance) = instance(generics);
    let text = name.to_string();
    let about = format!("The kernel that [`{text}`]({text}()) launches.");
    Ok(quote! {
        #(#docs)*
        ///
        /// # Errors
        /// What building the kernel reports, on the first call; as for `Kernel::launch`.
        #(#others)*
        #[allow(clippy::too_many_arguments)]
        #visibility fn #name #impl_generics (
            #queue: &#root::Queue,
            #range: impl ::core::convert::Into<#root::kernel::NdRange>,
            #(#declared),*
        ) -> #root::Result<#root::Event> #clause {
            #name::kernel::<#arguments>()?.launch(#queue, #range, &[#(#given),*], &[])
        }

        #[doc = #about]
        #[allow(non_camel_case_types)]
        #visibility struct #name {}

        impl #name {
            /// The kernel itself, built on the first call.
            ///
            /// # Errors
            /// What building it reports.
            #[allow(clippy::all, clippy::pedantic, unused_braces, unused_parens, unreachable_pub)]
            pub fn kernel #impl_generics () -> #root::Result<#root::kernel::Kernel> #clause {
                #instance
                static INSTANCES: #root::kernel::typed::Instances = #root::kernel::typed::Instances::new();
                INSTANCES.get::<Instance<#arguments>>(|| {
                    #root::kernel::typed::support::build::<#dims>(#text, |#context, #item: #item_type| {
                        #lets
                        #statements
                    })
                })
            }
        }
    })
}

/// The expansion of `device_function`.
pub(crate) fn device_function(attribute: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let root = root(attribute)?;
    let function: ItemFn = syn::parse2(item)?;
    check(&function)?;
    let parameters = parameters(&function)?;
    let (context, site) = (Ident::new("context", Span::mixed_site()), Ident::new("site", Span::mixed_site()));
    let result = Ident::new("result", Span::mixed_site());
    let (output, wants) = match &function.sig.output {
        ReturnType::Default => (None, None),
        ReturnType::Type(_, ty) => {
            check_number(ty)?;
            (Some(&**ty), Some(&result))
        }
    };
    let mut body = Body::new(&root, &context, Some(wants.cloned()));
    let (mut declared, mut lets) = (Vec::new(), TokenStream::new());
    for (number, parameter) in parameters.iter().enumerate() {
        let ident = match parameter.role {
            Role::Item => bind_name(parameter, &mut body, Kind::Item),
            Role::Object { writable, .. } => bind_name(parameter, &mut body, Kind::Object { writable }),
            Role::Scalar { mutable } => {
                let ident = bind_name(parameter, &mut body, Kind::of(mutable));
                if let (true, Some(ident)) = (mutable, &parameter.ident) {
                    lets.extend(body.variable(ident));
                }
                ident
            }
        };
        let ident = match parameter.ident {
            Some(_) => ident,
            None => format_ident!("_unnamed_{number}", span = Span::mixed_site()).into_token_stream(),
        };
        let ty = inside(parameter, &quote!('stridewise), &root);
        declared.push(quote!(#ident: #ty));
    }
    let statements = body.statements(&function.block)?;
    let (visibility, name, attributes) = (&function.vis, &function.sig.ident, &function.attrs);
    let generics = &function.sig.generics;
    let (parameters, clause) = (&generics.params, &generics.where_clause);
    let text = name.to_string();
    let support = quote!(#root::kernel::typed);
    let (returns, declare, get) = match output {
        None => (None, None, None),
        Some(ty) => (
            Some(quote!(-> #support::Expr<'stridewise, #ty>)),
            Some(quote!(let #result: #support::Var<'stridewise, #ty> = #context.declare(#text);)),
            Some(quote!(#result.get())),
        ),
    };
    Ok(quote! {
        #(#attributes)*
        #[allow(non_camel_case_types)]
        #visibility struct #name {}

        impl #name {
            /// Builds the function in the place of a call.
            #[doc(hidden)]
            #[allow(clippy::all, clippy::pedantic, unused_braces, unused_parens, unreachable_pub)]
            pub fn call<'stridewise, #parameters>(
                #(#declared,)*
                #site: #support::Site<'stridewise>,
            ) #returns #clause {
                let #context = #site.context();
                #declare
                if #site.open(#text) {
                    #lets
                    #statements
                    #context.end();
                }
                #get
            }
        }
    })
}

/// What neither kernels nor their functions have.
fn check(function: &ItemFn) -> Result<()> {
    let signature = &function.sig;
    let keyword = match (&signature.constness, &signature.asyncness, &signature.safety, &signature.abi) {
        (Some(token), ..) => Some(token.span),
        (_, Some(token), ..) => Some(token.span),
        (_, _, Safety::Unsafe(token), _) => Some(token.span),
        (_, _, _, Some(abi)) => Some(abi.extern_token.span),
        _ => None,
    };
    if let Some(span) = keyword {
        return Err(Error::new(span, "a kernel is a plain function: leave this out"));
    }
    for parameter in &signature.generics.params {
        if let GenericParam::Lifetime(lifetime) = parameter {
            let message =
                "kernels have no lifetimes of their own: leave it out, arrays live as long as their launch";
            return Err(Error::new(lifetime.span(), message));
        }
    }
    Ok(())
}

fn parameters(function: &ItemFn) -> Result<Vec<Parameter>> {
    function.sig.inputs.iter().map(parameter).collect()
}

fn parameter(argument: &FnArg) -> Result<Parameter> {
    let FnArg::Typed(typed) = argument else {
        return Err(Error::new(argument.span(), "a kernel has no `self`: pass what it needs as parameters"));
    };
    let (ident, mutable) = match &*typed.pat {
        Pat::Ident(pattern) if pattern.by_ref.is_none() && pattern.subpat.is_none() => {
            (Some(pattern.ident.clone()), pattern.mutability.is_some())
        }
        Pat::Wild(_) => (None, false),
        other => return Err(Error::new(other.span(), "a parameter is a name: take it apart in the body")),
    };
    let (ty, reference) = match &*typed.ty {
        Type::Reference(TypeReference { mutability, elem, .. }) => (&**elem, Some(mutability.is_some())),
        other => (other, None),
    };
    let last = match ty {
        Type::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
        _ => None,
    };
    let family = match last.as_deref() {
        Some("Item") => {
            return Ok(Parameter { ident, ty: ty.clone(), role: Role::Item });
        }
        Some("Global") => Some(Family::Global),
        Some("Local") => Some(Family::Local),
        Some("Private") => Some(Family::Private),
        _ => None,
    };
    let role = match (family, reference) {
        (Some(family), Some(writable)) => Role::Object { family, writable },
        (Some(_), None) => {
            let message =
                "take an array by reference: `&Global<..>` to read it, `&mut Global<..>` to write it";
            return Err(Error::new(ty.span(), message));
        }
        (None, Some(_)) => {
            let message = "a parameter is a number (`a: f32`), an array (`x: &Global<f32>`, `y: &mut Global<f32, 2>`), \
                           memory of the group (`tile: &mut Local<f32>`) or the item (`item: Item<1>`)";
            return Err(Error::new(typed.ty.span(), message));
        }
        (None, None) => {
            check_number(ty)?;
            Role::Scalar { mutable }
        }
    };
    Ok(Parameter { ident, ty: ty.clone(), role })
}

/// Says what to write instead, where a type is none of numbers in a kernel.
pub(crate) fn check_number(ty: &Type) -> Result<()> {
    match ty {
        Type::Path(path) if path.path.is_ident("usize") || path.path.is_ident("isize") => {
            let message = "there is no `usize` in a kernel: ids, extents and indices are `i64`";
            Err(Error::new(ty.span(), message))
        }
        Type::Path(_) | Type::Group(_) | Type::Paren(_) => Ok(()),
        _ => Err(Error::new(ty.span(), "expected the type of a number, such as `f32` or `i64`")),
    }
}

/// Makes a parameter's name known, and gives it.
fn bind_name(parameter: &Parameter, body: &mut Body<'_>, kind: Kind) -> TokenStream {
    match &parameter.ident {
        Some(ident) => {
            body.bind(ident, kind);
            ident.to_token_stream()
        }
        None => quote!(_),
    }
}

/// Declares a parameter of a kernel.
fn bind(parameter: &Parameter, body: &mut Body<'_>) -> Result<TokenStream> {
    let (root, context) = (body.root, body.context);
    let span = parameter.ident.as_ref().map_or_else(Span::call_site, Ident::span);
    let text = parameter.ident.as_ref().map_or_else(|| "_".to_owned(), Ident::to_string);
    let ty = inside(parameter, &quote!('_), root);
    let (kind, value) = match &parameter.role {
        Role::Object { family: Family::Global, writable } => {
            let value = body.support(span, "global", &quote!(#context, #text, #writable));
            (Kind::Object { writable: *writable }, value)
        }
        Role::Object { family: Family::Local, writable } => {
            (Kind::Object { writable: *writable }, body.support(span, "local", &quote!(#context, #text)))
        }
        Role::Object { family: Family::Private, .. } => {
            let message = "nobody outside of a kernel has an item's own arrays: declare it inside, `let mut sums = \
                           [0.0; 4];`";
            return Err(Error::new(parameter.ty.span(), message));
        }
        Role::Scalar { mutable } => {
            (Kind::of(*mutable), body.support(span, "scalar", &quote!(#context, #text)))
        }
        Role::Item => {
            return Err(Error::new(parameter.ty.span(), "a kernel has one item, its first parameter"));
        }
    };
    let name = bind_name(parameter, body, kind);
    let mut tokens = quote_spanned!(span=> let #name: #ty = #value;);
    if let (Role::Scalar { mutable: true }, Some(ident)) = (&parameter.role, &parameter.ident) {
        tokens.extend(body.variable(ident));
    }
    Ok(tokens)
}

/// The generic arguments of a path type.
fn generic_arguments(ty: &Type) -> Option<impl Iterator<Item = &GenericArgument>> {
    let Type::Path(path) = ty else { return None };
    match &path.path.segments.last()?.arguments {
        PathArguments::AngleBracketed(arguments) => Some(arguments.args.iter()),
        _ => None,
    }
}

/// A path type with a lifetime before its arguments.
pub(crate) fn with_lifetime(ty: &Type, lifetime: &TokenStream) -> TokenStream {
    let Type::Path(path) = ty else { return ty.to_token_stream() };
    let mut path = path.path.clone();
    let arguments: Vec<GenericArgument> = generic_arguments(ty).into_iter().flatten().cloned().collect();
    if let Some(last) = path.segments.last_mut() {
        last.arguments = PathArguments::None;
    }
    quote!(#path<#lifetime, #(#arguments),*>)
}

/// The type of a parameter inside of a kernel.
fn inside(parameter: &Parameter, lifetime: &TokenStream, root: &Path) -> TokenStream {
    let ty = &parameter.ty;
    match parameter.role {
        Role::Item | Role::Object { .. } => with_lifetime(ty, lifetime),
        Role::Scalar { .. } => quote_spanned!(ty.span()=> #root::kernel::typed::Expr<#lifetime, #ty>),
    }
}

/// The type of a parameter for who launches a kernel, and the argument.
fn outside(parameter: &Parameter, ident: &Ident, root: &Path) -> Result<(TokenStream, TokenStream)> {
    let ty = &parameter.ty;
    let support = quote!(#root::kernel::typed::support);
    let element = || match generic_arguments(ty).and_then(|mut all| all.next()) {
        Some(element) => Ok(element.clone()),
        None => Err(Error::new(ty.span(), "say the type of its elements, as in `&Global<f32>`")),
    };
    Ok(match parameter.role {
        Role::Object { family: Family::Global, writable } => {
            let element = element()?;
            let reference = if writable { quote!(&mut) } else { quote!(&) };
            (quote!(#reference #root::Array<#element>), quote!(#support::array_argument(#ident)))
        }
        Role::Object { .. } => {
            element()?;
            let dims = generic_arguments(ty).and_then(|mut all| all.nth(1).cloned());
            let dims = dims.map_or_else(|| quote!(1), ToTokens::into_token_stream);
            (quote!([usize; #dims]), quote!(#root::kernel::Argument::Local(#ident.to_vec())))
        }
        _ => (ty.to_token_stream(), quote!(#support::scalar_argument(#ident))),
    })
}

/// The generic arguments as they are passed on, and a type that stands for them.
fn instance(generics: &syn::Generics) -> (TokenStream, TokenStream) {
    let (mut arguments, mut declared, mut types) = (Vec::new(), Vec::new(), Vec::new());
    for parameter in &generics.params {
        match parameter {
            GenericParam::Type(ty) => {
                let ident = &ty.ident;
                arguments.push(ident);
                declared.push(quote!(#ident));
                types.push(ident);
            }
            GenericParam::Const(constant) => {
                let (ident, ty) = (&constant.ident, &constant.ty);
                arguments.push(ident);
                declared.push(quote!(const #ident: #ty));
            }
            GenericParam::Lifetime(_) => {}
        }
    }
    let instance = quote! {
        #[allow(dead_code)]
        struct Instance<#(#declared),*>(::core::marker::PhantomData<fn() -> (#(#types,)*)>);
    };
    (quote!(#(#arguments),*), instance)
}
