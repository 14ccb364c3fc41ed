"""Exact arithmetic with units and percentages: ``$1.2 million * 4%`` is ``$48,000``. Nothing is evaluated as code.

Numbers are fractions, so that sums and quotients are exact; only roots are not. A percentage that is added to, or
subtracted from, anything else is one of that: ``200 + 10%`` is ``220``, as people read it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Final

MAX_CHARS: Final = 500
MAX_DEPTH: Final = 40  # of brackets and signs
MAX_EXPONENT: Final = 200
MAX_BITS: Final = 4_000  # of a numerator or denominator, about 1,200 digits
SHOWN_DIGITS: Final = 12  # of a result that has no end
PERCENT: Final = "%"

SCALES: Final[Mapping[str, int]] = {
    **dict.fromkeys(("thousand", "k", "tsd"), 10**3),
    **dict.fromkeys(("million", "millions", "mn", "mio", "m"), 10**6),
    **dict.fromkeys(("billion", "billions", "bn", "mrd", "b"), 10**9),
    **dict.fromkeys(("trillion", "trillions", "tn"), 10**12),
}
_CURRENCIES: Final = "$€£¥₹"
_TOKEN = re.compile(
    rf"\s*(?:(?P<number>\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|\d+\.?\d*|\.\d+)(?:[eE](?P<power>[+-]?\d{{1,3}})(?!\w))?"
    rf"|(?P<sign>\*\*|[-+*/^(),%{_CURRENCIES}−–×·÷])|(?P<word>[^\W\d_]+))"
)
_SAME: Final = {"−": "-", "–": "-", "×": "*", "·": "*", "÷": "/", "^": "**", "percent": "%"}


class CalculationError(ValueError):
    """The expression can't be calculated. The text says why, for whoever wrote it."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit: a currency's sign, a word such as ``km``, ``%``, or nothing."""

    value: Fraction
    unit: str = ""
    is_exact: bool = True

    def __str__(self) -> str:
        number = format_number(self.value, is_exact=self.is_exact)
        if self.unit in _CURRENCIES and self.unit:
            sign = "-" if number.startswith("-") else ""
            return f"{sign}{self.unit}{number.removeprefix('-')}"
        return f"{number}{self.unit}" if self.unit == PERCENT else f"{number} {self.unit}".strip()

    @property
    def plain(self) -> Fraction:
        """The number, of a percentage a hundredth of it."""
        return self.value / 100 if self.unit == PERCENT else self.value


def calculate(expression: str) -> Quantity:
    """Return the value of an expression. Raises CalculationError."""
    if len(expression) > MAX_CHARS:
        raise CalculationError(f"the expression is too long: at most {MAX_CHARS} characters")
    return _Parser(_tokens(expression)).parse()


def format_number(value: Fraction, *, is_exact: bool = True) -> str:
    """Return a number with commas between thousands: all digits where it has an end, else ``SHOWN_DIGITS`` of them."""
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    with localcontext() as context:
        context.prec = 2_000 if rest == 1 and is_exact else SHOWN_DIGITS
        number = Decimal(value.numerator) / Decimal(value.denominator)
    digits = f"{number:,f}"
    return (digits.rstrip("0").rstrip(".") if "." in digits else digits) or "0"


def _tokens(text: str) -> list[str | Quantity]:
    tokens: list[str | Quantity] = []
    at = 0
    text = text.rstrip().rstrip("=").rstrip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise CalculationError(f"{text[at:].strip()[:20]!r} is not understood")
        at = found.end()
        if number := found["number"]:
            value = Fraction(number.replace(",", "").rstrip("."))
            tokens.append(Quantity(value * Fraction(10) ** int(found["power"] or 0)))
        else:
            sign = found["sign"] or found["word"]
            tokens.append(_SAME.get(sign.lower(), sign))
    return tokens


class _Parser:
    """Sums of products of powers of numbers, by recursive descent."""

    def __init__(self, tokens: Sequence[str | Quantity]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def parse(self) -> Quantity:
        result = self._sum()
        if self._next is not None:
            raise CalculationError(f"{self._next!s} is not expected there")
        return result

    @property
    def _next(self) -> str | Quantity | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _take(self, *wanted: str) -> str:
        """Return the next token where it is one of these, else an empty text."""
        token = self._next
        if isinstance(token, str) and token in wanted:
            self._at += 1
            return token
        return ""

    def _sum(self) -> Quantity:
        left = self._product()
        while sign := self._take("+", "-"):
            left = add(left, self._product(), 1 if sign == "+" else -1)
        return left

    def _product(self) -> Quantity:
        left = self._signed()
        while sign := self._take("*", "/"):
            left = multiply(left, self._signed()) if sign == "*" else divide(left, self._signed())
        return left

    def _signed(self) -> Quantity:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise CalculationError(f"too deep: at most {MAX_DEPTH} brackets and signs inside each other")
        sign = self._take("-", "+")
        result = self._signed() if sign else self._power()
        self._depth -= 1
        return Quantity(-result.value, result.unit, result.is_exact) if sign == "-" else result

    def _power(self) -> Quantity:
        base = self._with_unit()
        return power(base, self._signed()) if self._take("**") else base

    def _with_unit(self) -> Quantity:
        currency = self._take(*_CURRENCIES)
        result = self._number()
        while isinstance(self._next, str) and (self._next == PERCENT or self._next.isalpha()):
            word = self._next
            self._at += 1
            if word.lower() in SCALES and not result.unit:
                result = Quantity(result.value * SCALES[word.lower()], result.unit, result.is_exact)
            elif result.unit or currency:
                raise CalculationError(f"a second unit, {word}, behind {currency or result.unit}")
            else:
                result = Quantity(result.value, word, result.is_exact)
        if currency and result.unit:
            raise CalculationError(f"a second unit, {result.unit}, behind {currency}")
        return _checked(Quantity(result.value, currency or result.unit, result.is_exact))

    def _number(self) -> Quantity:
        found = self._next
        self._at += 1
        if isinstance(found, Quantity):
            return found
        if found == "(":
            result = self._sum()
            if not self._take(")"):
                raise CalculationError("a bracket is not closed")
            return result
        if isinstance(found, str) and found.lower() in FUNCTIONS:
            return self._function(found.lower())
        raise CalculationError(f"a number is expected, not {found}" if found else "a number is missing at the end")

    def _function(self, name: str) -> Quantity:
        if not self._take("("):
            raise CalculationError(f"{name} needs brackets: {FUNCTIONS[name].example}")
        arguments = [self._sum()]
        while self._take(","):
            arguments.append(self._sum())
        if not self._take(")"):
            raise CalculationError("a bracket is not closed")
        function = FUNCTIONS[name]
        if not function.fewest <= len(arguments) <= function.most:
            raise CalculationError(f"{name} takes other arguments: {function.example}")
        return _checked(function.work(arguments))


def add(left: Quantity, right: Quantity, sign: int) -> Quantity:
    """Add, or with -1 subtract. Raises CalculationError for two units."""
    is_exact = left.is_exact and right.is_exact
    if right.unit == PERCENT != left.unit:  # a part of what it is added to
        return _checked(Quantity(left.value * (1 + sign * right.plain), left.unit, is_exact))
    if left.unit and right.unit and left.unit != right.unit:
        raise CalculationError(f"{left.unit} and {right.unit} can't be added")
    if left.unit == PERCENT != right.unit:
        return _checked(Quantity(left.plain + sign * right.value, right.unit, is_exact))
    return _checked(Quantity(left.value + sign * right.value, left.unit or right.unit, is_exact))


def multiply(left: Quantity, right: Quantity) -> Quantity:
    """Multiply. Raises CalculationError for two units."""
    is_exact = left.is_exact and right.is_exact
    if left.unit == right.unit == PERCENT:
        return _checked(Quantity(left.value * right.plain, PERCENT, is_exact))
    units = [one.unit for one in (left, right) if one.unit not in ("", PERCENT)]
    if len(units) > 1:
        raise CalculationError(f"{units[0]} times {units[1]} has no unit here; leave the units out")
    return _checked(Quantity(left.plain * right.plain, "".join(units), is_exact))


def divide(left: Quantity, right: Quantity) -> Quantity:
    """Divide. The same unit is cancelled; two units become one, such as ``km/h``. Raises CalculationError."""
    if not right.value:
        raise CalculationError("a division by zero")
    below = "" if right.unit == PERCENT else right.unit
    above = "" if left.unit == PERCENT and (right.unit or right.value == 0) else left.unit
    unit = above if not below else "" if above == below else f"{above or 1}/{below}"
    value = left.plain / right.plain if unit != PERCENT else left.value / right.plain
    return _checked(Quantity(value, unit, left.is_exact and right.is_exact))


def power(base: Quantity, exponent: Quantity) -> Quantity:
    """Raise to a power. Raises CalculationError."""
    if exponent.unit not in ("", PERCENT) or base.unit not in ("", PERCENT):
        raise CalculationError("a power has no units; leave them out")
    value, times = base.plain, exponent.plain
    if abs(times) > MAX_EXPONENT:
        raise CalculationError(f"an exponent is too large: at most {MAX_EXPONENT}")
    if times.denominator != 1:
        return _checked(Quantity(_decimal_power(value, times), is_exact=False))
    if not value and times < 0:
        raise CalculationError("a division by zero")
    if (value.numerator.bit_length() + value.denominator.bit_length()) * abs(times) > 2 * MAX_BITS:
        raise CalculationError("the result is too large")
    return _checked(Quantity(value**times.numerator, is_exact=base.is_exact))


def _decimal_power(value: Fraction, times: Fraction) -> Fraction:
    if value < 0:
        raise CalculationError("a root of a negative number")
    if not value:
        return Fraction(0)
    with localcontext() as context:
        context.prec = 40
        number = Decimal(value.numerator) / Decimal(value.denominator)
        return Fraction(number ** (Decimal(times.numerator) / Decimal(times.denominator)))


def _checked(result: Quantity) -> Quantity:
    if max(result.value.numerator.bit_length(), result.value.denominator.bit_length()) > MAX_BITS:
        raise CalculationError("the result is too large")
    return result


def _sum_of(numbers: Sequence[Quantity]) -> Quantity:
    total = numbers[0]
    for number in numbers[1:]:
        total = add(total, number, 1)
    return total


def _round(numbers: Sequence[Quantity]) -> Quantity:
    digits = numbers[1].plain if len(numbers) > 1 else Fraction(0)
    if digits.denominator != 1 or abs(digits) > MAX_EXPONENT:
        raise CalculationError("round takes a whole number of digits: round(2.345, 2)")
    step = Fraction(10) ** -digits.numerator
    half_up = math.floor(abs(numbers[0].value) / step + Fraction(1, 2)) * step
    return Quantity(half_up if numbers[0].value >= 0 else -half_up, numbers[0].unit)


def _extreme(choose: Callable[..., Quantity]) -> Callable[[Sequence[Quantity]], Quantity]:
    def chosen(numbers: Sequence[Quantity]) -> Quantity:
        if len({number.unit for number in numbers}) > 1:
            raise CalculationError("numbers with different units can't be compared")
        return choose(numbers, key=lambda number: number.value)

    return chosen


def _change(numbers: Sequence[Quantity]) -> Quantity:
    ratio = divide(numbers[1], numbers[0])
    if ratio.unit:
        raise CalculationError("the two numbers of a change need the same unit")
    return Quantity((ratio.value - 1) * 100, PERCENT, ratio.is_exact)


def _yearly_change(numbers: Sequence[Quantity]) -> Quantity:
    ratio = divide(numbers[1], numbers[0])
    if ratio.unit or numbers[2].plain <= 0:
        raise CalculationError("cagr takes two numbers of one unit, and years: cagr(100, 121, 2)")
    return Quantity((_decimal_power(ratio.value, 1 / numbers[2].plain) - 1) * 100, PERCENT, is_exact=False)


@dataclass(frozen=True, slots=True)
class Function:
    """What a name in front of brackets does."""

    work: Callable[[Sequence[Quantity]], Quantity]
    example: str
    fewest: int = 1
    most: int = 1


FUNCTIONS: Final[Mapping[str, Function]] = {
    "abs": Function(lambda numbers: Quantity(abs(numbers[0].value), numbers[0].unit), "abs(-3)"),
    "avg": Function(lambda numbers: divide(_sum_of(numbers), Quantity(Fraction(len(numbers)))), "avg(1, 2)", 1, 100),
    "cagr": Function(_yearly_change, "cagr(100, 121, 2)", 3, 3),
    "change": Function(_change, "change(80, 100)", 2, 2),
    "max": Function(_extreme(max), "max(1, 2)", 1, 100),
    "min": Function(_extreme(min), "min(1, 2)", 1, 100),
    "round": Function(_round, "round(2.345, 2)", 1, 2),
    "sqrt": Function(lambda numbers: power(numbers[0], Quantity(Fraction(1, 2))), "sqrt(2)"),
    "sum": Function(_sum_of, "sum(1, 2)", 1, 100),
}
