"""The statements to make an operator of: those that a break's value is used in, with what they take and what they write.

Pure reading of `Source`. Anything that is not surely a write into a tensor of this function is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from graphmend_lsp.mending.facts.aliases import has_no_gradient, makes_new
from graphmend_lsp.mending.facts.bindings import is_bound, last_value
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.liveness import read_after_block
from graphmend_lsp.mending.facts.purity import TENSOR_METHODS, hazards
from graphmend_lsp.mending.facts.static_loops import is_size
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.endings import sets
from graphmend_lsp.mending.syntax.formatting import first_line, verbatim
from graphmend_lsp.mending.syntax.imports import bound_in, dotted, is_builtin
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Site, Source, assigned, loaded, local_names, parameters
from graphmend_lsp.mending.syntax.walk import walk

_LOOPS = (ast.For, ast.While)
_PYTHON = ("range", "len", "int", "enumerate", "zip", "min", "max", "abs", "reversed", "bool", "sum", "list", "tuple")


@dataclass(frozen=True, slots=True)
class Taken:
    """A name that the operator takes: a tensor (handed on `detached` when it is only read) or a whole number.

    `assumed` says that only its use tells that it is a tensor.
    """

    name: str
    tensor: bool
    detached: bool = False
    assumed: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """The statements, in order, of one block; `writes` are names of tensors."""

    statements: tuple[ast.stmt, ...]
    takes: tuple[Taken, ...]
    writes: tuple[str, ...]


def run_at(source: Source, place: Site) -> Run | None:
    """The statements around a break; None when they write in no tensor.

    Raises:
        Refused: when they cannot be an operator.
    """
    function = place.function
    assert function is not None
    holder = place.loops[-1] if place.loops else place.statement
    if isinstance(holder, (ast.AsyncFor, ast.Return)):
        return None
    block = source.block(holder)
    taken = _with_users(block, block.index(holder))
    if not any(isinstance(one, _LOOPS) and written_in(one) for one in taken):
        return None  # one write alone has rules of its own
    for one in taken:
        if isinstance(one, ast.Return):
            raise Refused(f"`{first_line(source, one)}` gives what data decides.")
        if name := next((name for name in sorted(_names(one)) if read_after_block(source, taken[-1], name)), None):
            raise Refused(f"`{name}` is decided by data and is read after the loop.")
    taken = _with_makers(source, block, taken)
    for one in taken:
        _refuse(source, one)
    kept = [one for one in block[block.index(taken[0]) : block.index(taken[-1])] if one not in taken]
    _refuse_order(source, taken, kept)
    return _run(source, function, taken)


def written_in(statement: ast.stmt) -> frozenset[str]:
    """The names of the tensors that a statement writes into by an index or an in-place method; "" for anything else."""
    found: set[str] = set()
    for one in walk(statement):
        if isinstance(one, (ast.Subscript, ast.Attribute)) and isinstance(one.ctx, ast.Store):
            found.add(one.value.id if isinstance(one, ast.Subscript) and isinstance(one.value, ast.Name) else "")
        elif isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr.endswith("_"):
            found.add(one.func.value.id if isinstance(one.func.value, ast.Name) else "")
    return frozenset(found)


def _with_users(block: Sequence[ast.stmt], at: int) -> list[ast.stmt]:
    """The statement at an index, and all behind it that read what those in front of it bind."""
    taken, bound = [block[at]], _names(block[at])
    for statement in block[at + 1 :]:
        if bound & loaded(statement):
            taken.append(statement)
            bound |= _names(statement)
    return taken


def _with_makers(source: Source, block: Sequence[ast.stmt], taken: list[ast.stmt]) -> list[ast.stmt]:
    """Also the assignments in front of them that only they read: what is looped over, where a counter starts."""
    for statement in reversed(block[: block.index(taken[-1])]):
        if statement in taken or not isinstance(statement, ast.Assign):
            continue
        names = _names(statement)
        plain = names and all(isinstance(one, ast.Name) for one in statement.targets)
        needed = any(names & (loaded(one) | _names(one)) for one in taken)
        fits = isinstance(statement.value, ast.Constant) or _depends_on_data(source, statement.value)
        if plain and needed and fits and not _is_read_elsewhere(source, statement, taken, names):
            taken.append(statement)
    return sorted(taken, key=lambda one: source.range(one)[0])


def _names(statement: ast.stmt) -> frozenset[str]:
    """The names that a statement binds."""
    return assigned(statement)


def _depends_on_data(source: Source, value: ast.expr) -> bool:
    """Whether the size of a value depends on data."""
    call = value
    while isinstance(call, ast.Subscript):
        call = call.value
    if not isinstance(call, ast.Call):
        return False
    name = dotted(source, call.func) or ""
    last = name.rpartition(".")[2] if name.startswith("torch.") else getattr(call.func, "attr", "")
    return last in ("nonzero", "unique", "masked_select", "tolist", "argwhere", "item")


def _is_read_elsewhere(source: Source, own: ast.stmt, taken: Sequence[ast.stmt], names: frozenset[str]) -> bool:
    function = source.function(own)
    inside = {id(node) for one in (own, *taken) for node in walk(one)}
    return function is not None and any(
        isinstance(node, ast.Name) and node.id in names and id(node) not in inside for node in walk(function)
    )


def _refuse(source: Source, statement: ast.stmt) -> None:
    """Refuse what cannot stand in an operator, or what it might do besides writing."""
    for one in walk(statement):
        if isinstance(one, ast.stmt) and not isinstance(
            one, (ast.Assign, ast.AugAssign, ast.For, ast.While, ast.If, ast.Expr, ast.Pass, ast.Break, ast.Continue)
        ):
            raise Refused(f"`{first_line(source, one)}` cannot stand in an operator.")
        if isinstance(one, ast.Expr) and not (written_in(one) and isinstance(one.value, ast.Call)):
            raise Refused(f"`{first_line(source, one)}` does more than write to a tensor.")
        stored = isinstance(one, (ast.Subscript, ast.Attribute)) and isinstance(one.ctx, ast.Store)
        if stored and not (isinstance(one, ast.Subscript) and isinstance(one.value, ast.Name)):
            raise Refused(f"`{source.code(one)}` is written, which is not a tensor of this function.")
        if isinstance(one, (ast.Lambda, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, ast.JoinedStr)):
            raise Refused(f"`{source.code(one)}` cannot stand in an operator.")
        if isinstance(one, ast.Call):
            _refuse_call(source, one)
    for hazard in hazards(source, statement):
        if hazard.kind == "random":
            raise Refused(f"`{source.code(hazard.node)}` draws random numbers.")


def _refuse_call(source: Source, call: ast.Call) -> None:
    name = dotted(source, call.func)
    if name is not None and name.startswith("torch.") and name.count(".") == 1:
        return
    if any(is_builtin(source, call.func, one) for one in _PYTHON):
        return
    method = call.func.attr if isinstance(call.func, ast.Attribute) and name is None else ""
    if method in TENSOR_METHODS or method in ("fill_", "zero_", "copy_", "masked_fill_", "index_fill_"):
        return
    raise Refused(f"`{source.code(call.func)}` may do more than compute.")


def _refuse_order(source: Source, taken: Sequence[ast.stmt], kept: Sequence[ast.stmt]) -> None:
    """The statements between those of the operator now run before all of them: refuse when that could be seen."""
    for one in kept:
        before = [other for other in taken if source.range(other)[0] < source.range(one)[0]]
        touched = frozenset(name for other in before for name in _names(other) | loaded(other) | written_in(other))
        plain = isinstance(one, ast.Assign) and all(isinstance(target, ast.Name) for target in one.targets)
        if not plain or (assigned(one) & touched) or any(_names(other) & loaded(one) for other in before):
            raise Refused(f"`{first_line(source, one)}` stands between the statements that depend on data.")
        if any(hazard.kind in ("effect", "random") for hazard in hazards(source, one)):
            raise Refused(f"`{first_line(source, one)}` stands between the statements and may have an effect.")


def _run(source: Source, function: Function, taken: Sequence[ast.stmt]) -> Run:
    if not all(source.starts_line(one) for one in taken):
        raise Refused("The statements share a line with others; put each on its own line.")
    locals_ = local_names(function)
    writes = frozenset(name for one in taken for name in written_in(one))
    names = [name for name in _needed(source, taken, frozenset()) if name in locals_]
    outer = frozenset(name for one in taken for name in loaded(one)) - locals_
    for name in sorted(outer):
        _refuse_outer(source, name)
    if "self" in names:
        raise Refused("The statements read `self`, which an operator cannot take; give what they need a name first.")
    written = tuple(name for name in names if name in writes)
    if not written:
        raise Refused("Code after the statements reads no tensor that they write to.")
    for name in (*writes - set(written), *(n for n in names if any(n in assigned(one) for one in taken))):
        raise Refused(f"`{name}` is given another value by the statements.")
    for name in names:
        if not is_bound(source, name, taken[-1]):
            raise Refused(f"`{name}` may have no value before `{first_line(source, taken[-1])}`.")
    for name in written:
        _refuse_shared(source, function, name, taken)
    kinds = Kinds(source)
    return Run(
        tuple(taken),
        tuple(_taken(source, kinds, taken, name, name in written) for name in names),
        written,
    )


def _needed(source: Source, block: Sequence[ast.stmt], bound: frozenset[str]) -> list[str]:
    """The names that statements read before they surely bind them, in the order of the statements."""
    found: dict[str, None] = {}
    for one in block:
        head = getattr(one, "iter", None) or getattr(one, "test", None)
        read = loaded(head) if isinstance(head, ast.AST) else loaded(one) | _augmented(one)
        found |= dict.fromkeys(sorted(read - bound))
        inner = bound | assigned(one.target) if isinstance(one, ast.For) else bound
        found |= dict.fromkeys(_needed(source, getattr(one, "body", []), inner))
        found |= dict.fromkeys(_needed(source, getattr(one, "orelse", []), bound))
        bound |= sets(source, one)
    return list(found)


def _refuse_outer(source: Source, name: str) -> None:
    """Refuse a name from outside the function that is neither torch nor a constant of the module."""
    if any(name == one for one in _PYTHON) and all(name not in assigned(one) for one in source.tree.body):
        return
    values = [one.value for one in source.tree.body if isinstance(one, ast.Assign) and name in assigned(one)]
    constant = len(values) == 1 and isinstance(values[0], ast.Constant)
    top = bound_in(source, source.tree)
    module = name not in top.others and top.imported.get(name, "").split(".")[0] == "torch"
    if not (constant or module):
        raise Refused(f"`{name}` comes from outside the function.")


def _refuse_shared(source: Source, function: Function, name: str, taken: Sequence[ast.stmt]) -> None:
    """Refuse a written tensor that is not made in this function, has another name by then, or may have a gradient."""
    if name in parameters(function):
        raise Refused(f"`{name}` is the caller's tensor; what changes it in place stays where it is seen.")
    value = last_value(source, name, taken[-1])
    if value is None or not makes_new(source, value):
        raise Refused(f"GraphMend cannot tell whether `{name}` is a new tensor that nothing else knows.")
    begin, end = source.range(value)[1], source.range(taken[-1])[0]
    inside = {id(node) for one in taken for node in walk(one)}
    for node in walk(function):
        read = isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        if read and id(node) not in inside and begin <= source.range(node)[0] < end:
            raise Refused(f"`{first_line(source, source.statement(node) or node)}` may give `{name}` another name.")
    if not has_no_gradient(source, function, name):
        raise Refused(f"What is written in `{name}` may have a gradient, which an operator would lose.")


def _taken(source: Source, kinds: Kinds, taken: Sequence[ast.stmt], name: str, written: bool) -> Taken:
    node = next(one for statement in taken for one in walk(statement) if isinstance(one, ast.Name) and one.id == name)
    if written:
        return Taken(name, tensor=True)
    if is_size(source, node):
        return Taken(name, tensor=False)
    function = source.function(taken[0])
    argument = next((one for one in _arguments(function) if one.arg == name), None)
    annotation = ast.unparse(argument.annotation) if argument is not None and argument.annotation is not None else ""
    if annotation == "int":
        return Taken(name, tensor=False)
    value = last_value(source, name, taken[0])
    if isinstance(value, ast.Constant) and type(value.value) is int:
        return Taken(name, tensor=False)
    if kinds.of(node) != "tensor" and "Tensor" not in annotation and not _is_operand(source, node):
        raise Refused(f"GraphMend cannot tell whether `{name}` is a tensor or a whole number.")
    if "Optional" in annotation or "None" in annotation:
        raise Refused(f"`{name}` may be None.")
    detached = function is None or not has_no_gradient(source, function, name)
    return Taken(name, tensor=True, detached=detached, assumed=argument is not None and "Tensor" not in annotation)


def _is_operand(source: Source, node: ast.Name) -> bool:
    """Whether a name is what a function of torch searches, which takes tensors only."""
    call = source.parents.get(node)
    if not isinstance(call, ast.Call) or call.args[:1] != [node]:
        return False
    return (dotted(source, call.func) or "") in ("torch.nonzero", "torch.argwhere", "torch.unique")


def _arguments(function: Function | None) -> list[ast.arg]:
    return [] if function is None else [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def _augmented(statement: ast.stmt) -> frozenset[str]:
    return frozenset(
        one.target.id for one in walk(statement) if isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name)
    )


def lines_of(source: Source, statement: ast.stmt) -> tuple[str, ...]:
    """A statement's lines without its indentation, comments behind and inside it included."""
    lines = list(verbatim(source, statement))
    end = source.range(statement)[1]
    behind = edits.comments(source, end, edits.end_of_line(source, end))
    return (*lines[:-1], lines[-1] + "".join(f"  {one.text}" for one in behind))
