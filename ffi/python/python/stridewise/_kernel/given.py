# mypy: ignore-errors
"""Numbers that are computed when a kernel is launched: what Python makes of the arguments that are numbers.

A recipe is the number of an argument, `(None, value)` (an `Exactly`), or a function with the recipes of its operands.

What is computed of such arguments and literals alone comes to the kernel as a further parameter, so it is what it would be
had the number been written there. Where the kernel itself depends on a value (the sign of an index or an exponent, an
extent, the range of an element), the value is kept with a guard, and a launch that does not keep it has another kernel, or
the error that the literal has. The cost: a launch compares its numbers with the guards, some nanoseconds, and each further
parameter costs it some tenths of a microsecond.
"""

import operator

from .things import INTEGER, number_kind

#: Bits of an integer that is computed before a kernel runs, at most.
BITS = 1 << 10
#: What operations on numbers raise.
ERRORS = (ArithmeticError, ValueError, TypeError)


class TooLarge(OverflowError):
    """An integer of which nobody can have use."""


def apply(function, *numbers):
    """What a function comes to, unless that is an integer of which nobody can have use."""
    if function in (operator.pow, operator.lshift) and all(isinstance(number, int) for number in numbers):
        if abs(numbers[1]) * max(abs(numbers[0]), 2).bit_length() > BITS:
            raise TooLarge(f"a number of more than {BITS} bits")
    return function(*numbers)


def kind(number):
    """What a parameter of the kernel depends on: the kind, and of integers whether they are beyond an int64; or None."""
    found = number_kind(number)
    if found == INTEGER and not -(2**63) <= number < 2**63:
        return "uint64" if 0 <= number < 2**64 else None
    return found


def fits(number, low, high):
    """Whether a real number is in a range without its fraction; None is no bound."""
    try:
        number = int(number)
    except ERRORS:
        return False
    return (low is None or low <= number) and (high is None or number <= high)


def computed(recipe):
    """A recipe as a function of the arguments."""
    if isinstance(recipe, int):
        return operator.itemgetter(recipe)
    function, *operands = recipe
    if function is None:
        value = operands[0].value
        return lambda arguments: value
    operands = [computed(operand) for operand in operands]
    return lambda arguments: apply(function, *(operand(arguments) for operand in operands))


def derive(numbers, guards):
    """What gives a kernel its further parameters: of the arguments, or None where it is not for them.

    numbers: recipes with the kinds that the kernel has them in. guards: recipes with tests.
    """
    if not numbers and not guards:
        return None
    numbers = [(computed(recipe), kind) for recipe, kind in numbers]
    guards = [(computed(recipe), test) for recipe, test in guards]

    def derived(arguments):
        try:
            found = tuple(compute(arguments) for compute, _ in numbers)
            if any(kind(number) != wanted for number, (_, wanted) in zip(found, numbers)):
                return None
            return found if all(test(compute(arguments)) for compute, test in guards) else None
        except ERRORS:
            return None

    return derived
