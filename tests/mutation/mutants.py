"""Mutants of a Python source: the same syntax tree with one small fault, of the kinds that people make.

What is not mutated: annotations, decorators, docstrings, imports, the text of messages (everything below a `raise`) and the
`strict` of `zip`; and loops are never made endless on purpose. Every other place that a rule fits gives one or more mutants.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Make = Callable[[Any], ast.AST]

ARITHMETIC: dict[type, tuple[type, ...]] = {
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div,), ast.Div: (ast.Mult,), ast.FloorDiv: (ast.Div,),
    ast.Mod: (ast.Mult,), ast.Pow: (ast.Mult,), ast.LShift: (ast.RShift,), ast.RShift: (ast.LShift,),
    ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,),
}
COMPARISON: dict[type, tuple[type, ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
FUNCTIONS = {
    "min": "max", "max": "min", "any": "all", "all": "any", "ceil": "floor", "floor": "ceil", "maximum": "minimum",
    "minimum": "maximum", "zeros": "ones", "ones": "zeros", "gammainc": "gammaincc", "gammaincc": "gammainc", "expm1": "exp",
    "log1p": "log", "triu_indices": "tril_indices", "round_up": "float", "round_down": "float", "sqrt_round_up": "sqrt",
    "gaussian_integers": "laplace_integers", "laplace_integers": "gaussian_integers", "nanmax": "nanmin", "nanmin": "nanmax",
}
"""Functions and what a wrong choice would be; `round_up` and `round_down` become rounding to the nearest."""
SYMMETRIC = ("min", "max", "maximum", "minimum", "array_equal", "hypot")
"""The order of their arguments is of no consequence."""
WORDS = {"left": "right", "right": "left", "lower": "upper", "upper": "lower"}
TINY = 1e-6
"""A positive number below it is an allowance for rounding: its mutant is no allowance."""


@dataclass(frozen=True)
class Mutant:
    """One fault: `place` is its number among all of the file; `function` is the outermost function that it is in, if any."""

    place: int
    line: int
    last_line: int
    function: str
    change: str


def mutants(source: str) -> list[Mutant]:
    """All mutants of a source, in its order.

    >>> [found.change for found in mutants("def f(a):\\n    return a < 3")]
    ['return a < 3 -> return None', 'a < 3 -> a <= 3', 'a < 3 -> a >= 3', '3 -> 4', '3 -> 2']
    """
    found = []
    for place, (node, make, function) in enumerate(_places(ast.parse(source))):
        before, after = (_text(part) for part in (node, make(copy.deepcopy(node))))
        found.append(Mutant(place, node.lineno, node.end_lineno or node.lineno, function, f"{before} -> {after}"))
    return found


def mutated(source: str, place: int) -> ast.Module:
    """The syntax tree with one fault; line numbers are those of the source."""
    tree = ast.parse(source)
    for number, (node, make, _) in enumerate(_places(tree)):
        if number == place:
            new = ast.copy_location(make(copy.deepcopy(node)), node)
            return ast.fix_missing_locations(_Replace(node, new).visit(tree))
    raise IndexError(f"there is no mutant {place}")


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self.new if node is self.old else self.generic_visit(node)


def _text(node: ast.AST) -> str:
    words = " ".join(ast.unparse(node).split())
    return words if len(words) <= 90 else words[:60] + " … " + words[-27:]


def _places(tree: ast.Module) -> Iterator[tuple[Any, Make, str]]:
    yield from _below(tree, "", outer="")


def _below(node: ast.AST, scope: str, outer: str) -> Iterator[tuple[Any, Make, str]]:
    """`scope`: names of classes and functions around; `outer`: the outermost function around, empty outside of functions."""
    if _left_alone(node):
        return
    for make in _faults(node, inside=bool(outer)):
        yield node, make, outer
    if isinstance(node, ast.Raise):
        return
    if isinstance(node, ast.keyword) and node.arg == "strict":
        return
    if isinstance(node, ast.If) and len(node.body) == 1 and isinstance(node.body[0], ast.Raise) and not node.orelse:
        yield from _below(node.test, scope, outer)  # without its `raise` it is the mutant whose test is False
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        name = f"{scope}{node.name}"
        for part in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
            yield from _below(part, scope, outer)
        for part in node.body:
            yield from _below(part, name + ".", outer or name)
    else:
        inner = f"{scope}{node.name}." if isinstance(node, ast.ClassDef) else scope
        for field, value in ast.iter_fields(node):
            if field not in ("annotation", "decorator_list"):
                for part in value if isinstance(value, list) else [value]:
                    if isinstance(part, ast.AST):
                        yield from _below(part, inner, outer)


def _left_alone(node: ast.AST) -> bool:
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str | type(...))
    typing = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    alias = isinstance(node, ast.AnnAssign) and "TypeAlias" in ast.unparse(node.annotation)
    public = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    return text or typing or alias or public or isinstance(node, ast.Import | ast.ImportFrom | ast.JoinedStr)


def _faults(node: Any, *, inside: bool) -> Iterator[Make]:
    match node:
        case ast.BinOp() if type(node.op) in ARITHMETIC:
            yield from (_with("op", other()) for other in ARITHMETIC[type(node.op)])
        case ast.AugAssign():
            yield from (_with("op", other()) for other in ARITHMETIC.get(type(node.op), ()))
            yield _nothing
        case ast.UnaryOp(op=ast.USub() | ast.Not() | ast.Invert()):
            yield lambda new: new.operand
        case ast.Compare():
            for place, operator in enumerate(node.ops):
                yield from (_in_list("ops", place, other()) for other in COMPARISON[type(operator)])
            for place, right in enumerate(node.comparators):
                if isinstance(right, ast.Constant) and isinstance(right.value, str):
                    yield _in_list("comparators", place, ast.Constant(right.value + "?"))
        case ast.BoolOp():
            yield _with("op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
            yield from (_without("values", place) for place in range(len(node.values)))
        case ast.Constant():
            yield from (_constant(value) for value in _other_values(node.value))
        case ast.If() | ast.IfExp():
            yield from (_with("test", ast.Constant(value)) for value in (False, True))
        case ast.While() if not isinstance(node.test, ast.Constant):
            yield _with("test", ast.Constant(False))
        case ast.Return(value=value) if inside and value is not None and ast.unparse(value) != "None":
            yield _with("value", ast.Constant(None))
        case ast.Raise() | ast.Assert() | ast.Delete():
            yield _nothing
        case ast.Expr(value=ast.Call()):
            yield _nothing
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield _nothing
        case ast.Break():
            yield lambda new: ast.Continue()
        case ast.Continue():
            yield lambda new: ast.Break()
        case ast.comprehension(ifs=[_, *_]):
            return  # it has no line of its own; see the expressions that hold it
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            yield from (_unfiltered(place) for place, part in enumerate(node.generators) if part.ifs)
        case ast.Call():
            yield from _faults_of_call(node)


def _faults_of_call(node: ast.Call) -> Iterator[Make]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in FUNCTIONS:
        yield lambda new: _called(new, FUNCTIONS[name])
    if name == "nextafter":
        yield lambda new: new.args[0]
    plain = [not isinstance(part, ast.Starred) and name not in SYMMETRIC for part in node.args]
    for place in range(len(node.args) - 1):
        if plain[place] and plain[place + 1] and ast.unparse(node.args[place]) != ast.unparse(node.args[place + 1]):
            yield _swapped(place)
    yield from (_without("keywords", place) for place, part in enumerate(node.keywords) if part.arg not in (None, "strict"))


def _other_values(value: object) -> list[object]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1]
    if isinstance(value, float):
        return [0.0] if 0 < value < TINY else [1.0] if value == 0 else [2 * value, value / 2]
    return [WORDS[value]] if isinstance(value, str) and value in WORDS else []


def _nothing(new: ast.AST) -> ast.AST:
    return ast.Pass()


def _constant(value: object) -> Make:
    return lambda new: ast.Constant(value)  # type: ignore[arg-type]


def _with(field: str, value: object) -> Make:
    def make(new: Any) -> ast.AST:
        setattr(new, field, value)
        return new  # type: ignore[no-any-return]
    return make


def _in_list(field: str, place: int, value: object) -> Make:
    def make(new: Any) -> ast.AST:
        getattr(new, field)[place] = value
        return new  # type: ignore[no-any-return]
    return make


def _without(field: str, place: int) -> Make:
    def make(new: Any) -> ast.AST:
        del getattr(new, field)[place]
        return new.values[0] if isinstance(new, ast.BoolOp) and len(new.values) == 1 else new  # type: ignore[no-any-return]
    return make


def _swapped(place: int) -> Make:
    def make(new: Any) -> ast.AST:
        new.args[place], new.args[place + 1] = new.args[place + 1], new.args[place]
        return new  # type: ignore[no-any-return]
    return make


def _unfiltered(place: int) -> Make:
    def make(new: Any) -> ast.AST:
        new.generators[place].ifs = []
        return new  # type: ignore[no-any-return]
    return make


def _called(new: ast.Call, name: str) -> ast.AST:
    """A call of another function: of the same module, or one that every module has."""
    if name == "sqrt":
        new.func = ast.parse("__import__('math').sqrt", mode="eval").body
    elif isinstance(new.func, ast.Attribute):
        new.func.attr = name
    else:
        new.func = ast.Name(name, ast.Load())
    return new
