"""What an operator takes: tensors, lists of tensors and numbers, by the facts of a run and the text. Pure reading of `Source`."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from graphmend_lsp.mending.facts.bindings import last_value
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.operators import ATTRIBUTES, METHODS
from graphmend_lsp.mending.facts.seen import Seen
from graphmend_lsp.mending.lowering.outlined import Run
from graphmend_lsp.mending.rules.opaque.always import reads_always
from graphmend_lsp.mending.rules.opaque.methods import own_method
from graphmend_lsp.mending.rules.opaque.modules import annotation_of_module
from graphmend_lsp.mending.syntax.imports import is_builtin
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source, assigned, parameters
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.values import TensorFact, ValueFact

NUMBERS = ("int", "float", "bool", "str", "torch.device", "torch.dtype")
"""What an operator takes beside tensors, as annotations."""
STRUCTURE = "object"
"""The annotation of what is made of tensors, arrays, numbers, texts and None, in lists, tuples and dicts."""
_STRUCTURED = frozenset(("tensor", "bool", "int", "float", "str", "None", "list", "tuple", "dict"))
_CUT = frozenset(name for name, one in {**METHODS, **ATTRIBUTES}.items() if not (one.carries_gradient or one.effect))
"""What is read of a tensor by these has no gradient of it."""


@dataclass(frozen=True, slots=True)
class Handed:
    """What the operator takes: its parameter, the annotation that torch reads, and the text that is handed to it.

    `is_flags` says that it holds booleans or complex numbers, in the text or in a run. `constant` is the one flag or text that it
    was in every call; None where there is no such one. `node` is where the statements first read it.
    """

    name: str
    annotation: str
    text: str
    fact: TensorFact | None = None
    is_flags: bool = False
    constant: bool | str | None = None
    node: ast.expr | None = None


def annotation_of(source: Source, node: ast.expr) -> str | None:
    """The annotation of a parameter for a value; None where an operator cannot take it."""
    fact = Seen(source).of(node) or _given(source, node)
    if fact is not None:
        items = fact.items or ((fact.element,) if fact.element is not None else ())
        if fact.kinds in (("list",), ("tuple",)) and items and all(one.is_tensor for one in items):
            return "list[Tensor]" if fact.kinds == ("list",) else STRUCTURE
        if fact.is_tensor:
            Seen(source).believe(node, "a tensor")
            return "Tensor"
        if "module" in fact.kinds:
            return annotation_of_module(source, node, fact)
        kind = _kind(fact)
        if kind is not None:
            Seen(source).believe(node, f"of type {kind}")
            return kind
        if _is_structure(fact):
            Seen(source).believe(node, _words(fact))
            return STRUCTURE
        return None
    if Kinds(source).of(node) == "tensor":
        return "Tensor"
    statement = source.statement(node)
    value = last_value(source, node.id, statement) if isinstance(node, ast.Name) and statement is not None else None
    return (
        type(value.value).__name__
        if isinstance(value, ast.Constant) and type(value.value) in (int, float, bool)
        else None
    )


def _is_structure(fact: ValueFact) -> bool:
    """Whether a value is one that `STRUCTURE` takes, with all that it holds."""
    if is_array(fact):
        return True
    if not _STRUCTURED.issuperset(fact.kinds):
        return False
    items = fact.items or ((fact.element,) if fact.element is not None else ())
    holds = {"list", "tuple", "dict"}.intersection(fact.kinds)
    return (bool(items) or not holds or fact.lengths == (0,)) and all(_is_structure(one) for one in items)


def _words(fact: ValueFact) -> str:
    """What such a value was, behind "was"."""
    if is_array(fact):
        return "a numpy array"
    return "None" if fact.is_none else "made of tensors and Python values"


def is_array(fact: ValueFact) -> bool:
    """Whether a value was an array of numpy every time."""
    return fact.kinds == ("other",) and fact.classes == ("numpy.ndarray",)


def _kind(fact: ValueFact) -> str | None:
    """The annotation of a value that is no tensor."""
    found = fact.kinds if fact.is_plain else fact.classes
    return found[0] if len(fact.kinds) == 1 and len(found) == 1 and found[0] in NUMBERS else None


def constant_of(source: Source, node: ast.expr) -> bool | str | None:
    """The one flag or text that a value was in every call of a run."""
    fact = Seen(source).of(node) or _given(source, node)
    held = fact.constant if fact is not None and fact.kinds in (("bool",), ("str",)) else ()
    return held[0] if len(held) == 1 and isinstance(held[0], (bool, str)) else None


def _given(source: Source, node: ast.expr) -> ValueFact | None:
    """What a run saw of a parameter that keeps its value, at any place in the function."""
    function = source.function(node)
    if function is None or not isinstance(node, ast.Name) or node.id not in parameters(function):
        return None
    uses = [one for one in walk(function) if isinstance(one, ast.Name) and one.id == node.id]
    if any(not isinstance(one.ctx, ast.Load) or source.function(one) is not function for one in uses):
        return None
    found = [fact for one in uses if (fact := Seen(source).of(one)) is not None]
    return found[0] if found else None


def first_load(source: Source, run: Run, name: str) -> ast.expr:
    """Where the statements first name a value; of a name that they never bind, where a run first saw it."""
    named = [one for one in _loads(source, run) if isinstance(one, ast.Name) and one.id == name]
    kept = all(isinstance(one.ctx, ast.Load) for one in named)
    return next((one for one in named if kept and Seen(source).of(one) is not None), named[0])


def _loads(source: Source, run: Run) -> Iterable[ast.expr]:
    begin, end = source.range(run.first)[0], source.range(run.last)[1]
    function = source.function(run.first)
    inside = [
        one
        for one in (walk(function) if function is not None else ())
        if isinstance(one, (ast.Name, ast.Attribute)) and begin <= source.range(one)[0] < end
    ]
    return sorted(inside, key=lambda one: (source.range(one)[0], isinstance(one.ctx, ast.Store)))


def taken(source: Source, run: Run) -> tuple[tuple[Handed, ...], dict[ast.AST, str]]:
    """What the operator takes, and the parameters that stand for attributes of ``self`` and of other objects in its text."""
    found: list[Handed] = []
    exchange: dict[ast.AST, str] = {}
    objects = [name for name in run.takes if is_object(source, run, name)]
    for name in run.takes:
        if name in objects:
            continue
        load = first_load(source, run, name)
        annotation = annotation_of(source, load)
        assert annotation is not None
        uses = [one for one in _loads(source, run) if isinstance(one, ast.Name) and one.id == name]
        cut = annotation == "Tensor" and all(_is_cut(source, one) for one in uses if isinstance(one.ctx, ast.Load))
        cut = (
            cut and not Kinds(source).is_bool(load) and name not in run.gives
        )  # where nothing binds it, it is a result
        fact, flags = Seen(source).tensor(load), _holds_flags(source, load)
        text = f"{name}.detach()" if cut else name
        found.append(Handed(name, annotation, text, fact, flags, constant_of(source, load), load))
    used = _names_at(source, run)
    for one in _loads(source, run):
        if not (isinstance(one, ast.Name) and one.id in objects):
            continue
        attribute, annotation, is_called = _part_of(source, one)
        if is_called and attribute is not None and (method := own_method(source, attribute)) is not None:
            exchange[attribute] = f"{one.id}.{method.name}"
            continue
        if (
            attribute is not None
            and isinstance(attribute.value, ast.Attribute)
            and not _is_read(source, run, attribute)
        ):
            raise Refused(f"`{source.code(attribute)}` is read only under a condition, and may be missing otherwise.")
        if attribute is None:
            raise Refused(f"The statements hand on `{one.id}`, which an operator cannot take.")
        text = source.code(attribute)
        if annotation is None and (is_called or not any(each.text == text for each in found)):
            raise Refused(f"`{text}` is not known to be a tensor or a number, which is what an operator takes.")
        known = next((each.name for each in found if each.text == text), None)
        if known is None and annotation is not None:
            free = attribute.attr not in used and all(attribute.attr != each.name for each in found)
            known = attribute.attr if free else source.fresh(attribute.attr, frozenset(each.name for each in found))
            fact, flags = Seen(source).tensor(attribute), _holds_flags(source, attribute)
            found.append(Handed(known, annotation, text, fact, flags, constant_of(source, attribute), attribute))
        assert known is not None
        exchange[attribute] = known
    if not any("Tensor" in one.annotation for one in found):
        raise Refused("The statements take no tensor; compute this outside of the compiled function.")
    return tuple(found), exchange


def _names_at(source: Source, run: Run) -> frozenset[str]:
    """The names that mean something where the statements stand: of their function, and of the module."""
    function = source.function(run.first)
    own = {one.id for one in walk(function) if isinstance(one, ast.Name)} if function is not None else set()
    return frozenset(own.union(*(assigned(one) for one in source.tree.body)))


def is_object(source: Source, run: Run, name: str) -> bool:
    """Whether a name holds an object of which the operator takes parts: ``self``, or one that is read for its attributes alone.

    Not one that a test of the function asks for, or for whose attributes it asks: they need not be there.
    """
    if name == "self":
        return True
    loads = [one for one in _loads(source, run) if isinstance(one, ast.Name) and one.id == name]
    if not loads or annotation_of(source, first_load(source, run, name)) is not None:
        return False
    if any(not isinstance(one.ctx, ast.Load) for one in loads):
        return False
    parts = [_part_of(source, one) for one in loads]
    if any(annotation is None for _, annotation, _ in parts):
        return False
    found = [part for part, _, _ in parts if part is not None]
    return not any(_is_asked(source, run, part.value) or not _is_read(source, run, part) for part in found)


def _part_of(source: Source, name: ast.Name) -> tuple[ast.Attribute | None, str | None, bool]:
    """The attribute of a name that an operator can take, its annotation, and whether it is called instead.

    Of ``self.config.size`` that is the whole, where nothing asks for ``self.config``. Where there is none, the first attribute.
    """
    first: ast.Attribute | None = None
    node, parent = name, source.parents.get(name)
    while isinstance(parent, ast.Attribute) and isinstance(parent.ctx, ast.Load):
        call = source.parents.get(parent)
        annotation = annotation_of(source, parent)
        if isinstance(call, ast.Call) and call.func is parent and annotation is None:
            return first or parent, None, first is None
        if annotation is not None and (first is None or not _is_asked(source, None, node)):
            return parent, annotation, False
        first = first or parent
        node, parent = parent, source.parents.get(parent)  # type: ignore[assignment]
    return first, None, False


def _is_read(source: Source, run: Run, part: ast.Attribute) -> bool:
    """Whether the statements read an attribute in any case, so that it is there whenever they run."""
    text = source.code(part)
    block = source.block(run.first)
    inside = block[block.index(run.first) : block.index(run.last) + 1]
    return reads_always(inside, lambda one: isinstance(one, ast.Attribute) and source.code(one) == text)


def _is_asked(source: Source, run: Run | None, value: ast.expr) -> bool:
    """Whether a test in the function asks for an object, as whether it is None, or which attributes it has."""
    function = source.function(value if run is None else run.first)
    text = source.code(value)
    for one in walk(function) if function is not None else ():
        if not isinstance(one, (ast.Name, ast.Attribute)) or source.code(one) != text:
            continue
        parent = source.parents.get(one)
        if isinstance(parent, (ast.Compare, ast.BoolOp, ast.UnaryOp)) or getattr(parent, "test", None) is one:
            return True
        if isinstance(parent, ast.Call) and any(is_builtin(source, parent.func, name) for name in _ASKING):
            return True
    return False


_ASKING = ("hasattr", "getattr", "isinstance", "callable", "type")


def _holds_flags(source: Source, node: ast.expr) -> bool:
    """Whether a tensor, or one of a list, holds booleans or complex numbers, by the text or in a run."""
    fact = Seen(source).of(node) or _given(source, node)
    items = _every(fact) if fact is not None else []
    dtypes = [dtype for one in items if one.tensor is not None for dtype in one.tensor.dtypes]
    if any(map(is_array, items)):
        return True  # of which no run notes the dtype
    return Kinds(source).is_bool(node) or any(one == "bool" or one.startswith("complex") for one in dtypes)


def _every(fact: ValueFact) -> list[ValueFact]:
    """A value and all that it holds."""
    inner = (*fact.items, *((fact.element,) if fact.element is not None else ()))
    return [fact, *(each for one in inner for each in _every(one))]


def _is_cut(source: Source, node: ast.AST) -> bool:
    """Whether what is made of a tensor here has no gradient of it."""
    for one in source.ancestors(node):
        if isinstance(one, ast.Attribute) and one.attr in _CUT:
            return True
        if isinstance(one, (ast.Compare, ast.If, ast.While, ast.Assert)):
            return True
        if isinstance(one, ast.Subscript) and node in walk(one.slice):
            return True
        if isinstance(one, ast.Call) and any(
            is_builtin(source, one.func, name) for name in ("int", "float", "bool", "len", "repr", "str", "range")
        ):
            return True
        if isinstance(one, ast.stmt):
            return False
    return False
