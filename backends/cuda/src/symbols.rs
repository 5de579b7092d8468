//! Functions of libraries that are opened at run time. Each may be absent: then a call of it is refused, as a call that
//! the library itself refuses.

use std::ffi::{CStr, c_void};

use dlopen2::raw::Library;

/// A call that was refused: its function, and the library's code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Refused {
    /// The function.
    pub(crate) call: &'static str,
    /// What it returned, or [`ABSENT`].
    pub(crate) code: i32,
}

/// The code of a call whose function the library does not have; no library's own.
pub(crate) const ABSENT: i32 = i32::MIN;

/// How the address of a function is found by its name; null where there is none.
pub(crate) type Find<'a> = &'a dyn Fn(&CStr) -> *mut c_void;

/// Opens a library for good, and gives how its functions are found. It is never closed: drivers have threads of their own.
///
/// # Errors
/// What the system's loader says.
pub(crate) fn open(name: &std::ffi::OsStr) -> Result<impl Fn(&CStr) -> *mut c_void + use<>, String> {
    let library = Library::open(name).map_err(|error| error.to_string())?;
    let library: &'static Library = Box::leak(Box::new(library));
    Ok(move |symbol: &CStr| {
        // SAFETY: the symbol is taken as an address and is called by nobody here; the library stays loaded.
        unsafe { library.symbol_cstr::<*mut c_void>(symbol) }.unwrap_or(std::ptr::null_mut())
    })
}

/// A table of functions that return a code, 0 where all is well.
macro_rules! table {
    ($(#[$doc:meta])* $Table:ident { $($name:ident = $symbol:ident($($argument:ident: $type:ty),* $(,)?);)* }) => {
        $(#[$doc])*
        #[allow(clippy::too_many_arguments, reason = "the functions are those of C headers")]
        pub(crate) struct $Table {
            $($name: Option<unsafe extern "system" fn($($type),*) -> std::ffi::c_int>,)*
        }

        #[allow(clippy::too_many_arguments, reason = "the functions are those of C headers")]
        impl $Table {
            /// The functions that are found.
            ///
            /// # Safety
            /// What is found by a name is the function of this name, as the library's header declares it, and stays there.
            pub(crate) unsafe fn of(find: crate::symbols::Find<'_>) -> Self {
                const fn text(symbol: &'static str) -> &'static std::ffi::CStr {
                    match std::ffi::CStr::from_bytes_with_nul(symbol.as_bytes()) {
                        Ok(text) => text,
                        Err(_) => panic!("a symbol ends with a zero"),
                    }
                }
                Self {
                    $($name: {
                        let address = find(const { text(concat!(stringify!($symbol), "\0")) });
                        // SAFETY: null becomes `None`; else it is the function of this name, with the arguments that stand in
                        // the table, by this function's contract.
                        unsafe { std::mem::transmute::<
                            *mut std::ffi::c_void,
                            Option<unsafe extern "system" fn($($type),*) -> std::ffi::c_int>,
                        >(address) }
                    },)*
                }
            }

            $(
                #[doc = concat!("`", stringify!($symbol), "`.")]
                ///
                /// # Safety
                /// What the function's documentation asks of its caller.
                #[allow(dead_code, reason = "which functions are called differs by target and test")]
                pub(crate) unsafe fn $name(&self, $($argument: $type),*) -> Result<(), crate::symbols::Refused> {
                    let call = stringify!($symbol);
                    let Some(function) = self.$name else {
                        return Err(crate::symbols::Refused { call, code: crate::symbols::ABSENT });
                    };
                    // SAFETY: the function is the library's (`of`), and called as its caller promises.
                    match unsafe { function($($argument),*) } {
                        0 => Ok(()),
                        code => Err(crate::symbols::Refused { call, code }),
                    }
                }
            )*
        }
    };
}
pub(crate) use table;
