# mypy: ignore-errors
"""Signatures: the types of arguments that a kernel is for, as numba-dpex has them."""

from .. import _native


class USMNdArray:
    """The type of an array in a signature: its number of dimensions and its dtype. layout: taken, as kernels read arrays of any."""

    __slots__ = ("dtype", "ndim")

    def __init__(self, ndim, layout="C", dtype=None):
        self.ndim, self.dtype = ndim, _native.dtype("float64" if dtype is None else dtype)

    def __repr__(self):
        return f"USMNdArray({self.ndim}, dtype={self.dtype})"

    def _fits(self, what, dtype, ndim):
        return (what, dtype, ndim) == ("array", self.dtype.name, self.ndim)


class ItemType:
    """The type of an Item in a signature: that of launches over a Range of so many extents."""

    __slots__ = ("ndim",)
    _grouped = False

    def __init__(self, ndim):
        if ndim not in (1, 2, 3):
            raise ValueError(f"`ndim` is {ndim!r}; expected 1, 2 or 3, as an index space has extents")
        self.ndim = ndim

    def __repr__(self):
        return f"{type(self).__name__}({self.ndim})"


class NdItemType(ItemType):
    """The type of an NdItem in a signature: that of launches over an NdRange of so many extents."""

    __slots__ = ()
    _grouped = True


class Signature:
    """The types of a kernel's arguments: of its item, if that is named, of arrays, and dtypes for numbers."""

    def __init__(self, types):
        item = next(iter(types), None)
        self.item = item if isinstance(item, ItemType) else None
        self.types = tuple(each if isinstance(each, USMNdArray) else _native.dtype(each) for each in types[self.item is not None :])

    def __repr__(self):
        return f"({', '.join(map(str, (*([self.item] if self.item else []), *self.types)))})"

    def fits(self, dims, grouped, arguments):
        """Whether it is that of a launch. A number has to be of a kind that its dtype holds."""
        if self.item is not None and (self.item.ndim, self.item._grouped) != (dims, grouped):
            return False
        return len(arguments) == len(self.types) and all(map(_fits, self.types, arguments))

    def known(self):
        """The arguments of its kernel, where they do not depend on a number's value and it says over what it is launched; else None."""
        if self.item is None or not all(isinstance(each, USMNdArray) for each in self.types):
            return None
        return self.item.ndim, self.item._grouped, [("array", each.dtype.name, each.ndim) for each in self.types]


def _fits(wanted, argument):
    if isinstance(wanted, USMNdArray):
        return wanted._fits(*argument)
    what, dtype, _ = argument
    if what == "number":
        return _native.can_cast(dtype, wanted, casting="same_kind")
    return what == "scalar" and dtype == wanted.name


def signatures_of(given):
    """The signatures that are given in the place of a function: one, or a list of them; None where a function is given."""
    if isinstance(given, (USMNdArray, ItemType)):
        raise ValueError(f"a signature of {given!r}; expected the types of all parameters; help: write a tuple of them, as ({given!r},)")
    several = given if isinstance(given, list) else [given]
    for one in several:
        if isinstance(one, str) and (isinstance(given, list) or one.lstrip().startswith("(")):
            raise NotImplementedError(f"the signature {one!r} as a text; help: write a tuple of types")
    if not isinstance(given, (tuple, list)):
        return None
    for one in several:
        if not isinstance(one, tuple):
            raise TypeError(f"a signature of {one!r}; expected a tuple of types")
    return [Signature(one) for one in several]
