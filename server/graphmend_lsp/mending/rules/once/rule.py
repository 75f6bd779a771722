"""Modules that are set up once, in their first call: TorchDynamo calls the function that does it while it traces.

What it does
------------
What follows ``if getattr(model, "is_ready", False): return``, or stands under ``if not self.is_ready:``, becomes a function of
its own with one decorator, ``@sets_up("is_ready")``. TorchDynamo calls it when it meets the call, and then traces the compiled
function from its start again, with modules that are set up. Uncompiled code calls it where it stands.

Why it costs
------------
Hooks, locks, caches and modules that are made in the first call end a graph there, and the code that is compiled in that call
stays in pieces in all later ones.

Safety
------
The function runs once for each module, as before, and TorchDynamo compiles each module for itself. It runs before the rest of
the compiled function, not in its middle: the mend assumes that nothing in front of it in a call depends on what it sets up, or
changes what it reads. Each verification tries that with programs as they were loaded. After 16 such functions in one
compilation, the graph breaks at the others as before.

When it is refused
------------------
Where it takes a tensor, a number or anything but modules, gives a value, says something, draws random numbers, uses what is
stored before it. Where nothing in it sets what the condition asks for, the rule is not about it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graphmend_lsp.mending.facts.effects import effect_of
from graphmend_lsp.mending.facts.operators import operators_named
from graphmend_lsp.mending.facts.seen import Seen
from graphmend_lsp.mending.rules.once import RULE
from graphmend_lsp.mending.rules.once.examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.break_site import Place, calls_around
from graphmend_lsp.mending.syntax.formatting import goes_over_lines
from graphmend_lsp.mending.syntax.imports import dotted
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source, assigned, loaded, local_names
from graphmend_lsp.mending.syntax.support import is_supported, supported
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Assumption, Declined, Mend, TextEdit

__all__ = ["EXAMPLES", "REFUSALS", "propose"]

_DEEP = 6
_PREFIX = re.compile(r"^_*(maybe|ensure|lazy|lazily)_|_(if_needed|once|lazily)$|^_+")
_ENDS = (ast.Break, ast.Continue, ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal)


@dataclass(frozen=True)
class _Setup:
    """What is done once: the statements, the flag that says whether it was, and what they take.

    `rest`: they are all that follows an ``if`` that returns, and no branch.
    """

    place: Place
    function: ast.FunctionDef
    question: ast.If
    body: Sequence[ast.stmt]
    flag: str
    given: tuple[str, ...]
    rest: bool


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The function that sets modules up; empty where the break is in nothing that is done once."""
    for one in (place, *calls_around(place.request)):
        setup = _setup_at(one)
        if setup is not None:
            _refuse(setup)
            if one is not place:  # it rests on what was seen there
                place.source.rested.clear()
                place.source.rested.update(one.source.rested)
            return (_mend(place, setup),)
    return ()


def _setup_at(place: Place) -> _Setup | None:
    """What is done once around a place; None where nothing is."""
    source, function = place.source, place.function
    if not isinstance(function, ast.FunctionDef) or _has_decorator(source, function):
        return None
    if not isinstance(source.parents.get(function), (ast.Module, ast.ClassDef)):
        return None
    statement = source.statement(place.node)
    inside = [statement, *(() if statement is None else source.ancestors(statement))]
    if isinstance(statement, ast.Expr) and _is_done(source, statement.value):
        return None
    for at, one in enumerate(function.body):
        if (
            isinstance(one, ast.If)
            and one not in inside
            and _returns(one)
            and (flag := _flag_of(source, one.test, True))
        ):
            body = function.body[at + 1 :]
            if any(each in inside for each in body) and _is_set(source, body, flag):
                return _Setup(place, function, one, body, flag, _given(source, function, one, body), True)
    for each in inside:
        if isinstance(each, ast.If) and source.function(each) is function and not each.orelse:
            flag = _flag_of(source, each.test, False)
            if flag and any(one in inside for one in each.body) and _is_set(source, each.body, flag):
                return _Setup(place, function, each, each.body, flag, _given(source, function, each, each.body), False)
    return None


def _is_done(source: Source, call: ast.expr) -> bool:
    """Whether that is the call of a function that already has the decorator."""
    name = getattr(call.func, "id", getattr(call.func, "attr", "")) if isinstance(call, ast.Call) else ""
    return any(
        isinstance(one, ast.FunctionDef) and one.name == name and _has_decorator(source, one) for one in source.nodes
    )


def _has_decorator(source: Source, function: ast.FunctionDef) -> bool:
    marks = (one.func for one in function.decorator_list if isinstance(one, ast.Call))
    return any(is_supported(source, one, "sets_up") for one in marks)


def _returns(branch: ast.If) -> bool:
    """Whether an ``if`` does nothing but end its function."""
    last = branch.body[0]
    plain = isinstance(last, ast.Return) and (last.value is None or _is_none(last.value))
    return len(branch.body) == 1 and plain and not branch.orelse


def _flag_of(source: Source, test: ast.expr, wanted: bool) -> str:
    """The attribute of a module that a test asks for, where the test is true when it is set (`wanted`) or when it is not."""
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, wanted = test.operand, not wanted
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and _is_none(test.comparators[0]):
        if not isinstance(test.ops[0], ast.IsNot if wanted else ast.Is):
            return ""
        test, wanted = test.left, True
    if not wanted:
        return ""
    fact = Seen(source).of(test)
    if fact is not None and fact.is_tensor:
        return ""
    if isinstance(test, ast.Attribute) and isinstance(test.value, ast.Name):
        return test.attr
    if not isinstance(test, ast.Call) or not isinstance(test.func, ast.Name) or test.keywords:
        return ""
    names = {"hasattr": (2,), "getattr": (2, 3)}
    given = test.args[1] if len(test.args) in names.get(test.func.id, ()) else None
    plain = given is not None and isinstance(test.args[0], ast.Name)
    plain = plain and all(isinstance(one, ast.Constant) and not one.value for one in test.args[2:])
    return given.value if plain and isinstance(given, ast.Constant) and isinstance(given.value, str) else ""


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _given(source: Source, function: ast.FunctionDef, question: ast.If, body: Sequence[ast.stmt]) -> tuple[str, ...]:
    """What the statements take of their function, `self` first, the others in the order of its parameters."""
    before = source.range(question)[0]
    bound = {name for one in function.body if source.range(one)[0] < before for name in assigned(one)}
    bound |= local_names(function) - {name for one in body for name in assigned(one)}
    taken = {name for one in body for name in loaded(one)} & bound
    order = [one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    return tuple(sorted(taken, key=lambda name: (order.index(name) if name in order else len(order), name)))


def _refuse(setup: _Setup) -> None:
    """Refuse what cannot run while TorchDynamo traces, and once.

    Raises:
        Refused: with the reason.
    """
    source, function = setup.place.source, setup.function
    for name in setup.given:
        if not _is_module(source, function, name):
            raise Refused(f"`{name}` goes into what is set up once, and is not known to be a module.")
    if isinstance(source.parents.get(function), ast.ClassDef) and setup.given[:1] != ("self",):
        raise Refused("What is set up once does not use `self`; put it into a function of its own.")
    if not setup.given:
        raise Refused("What is set up once takes no module, so that TorchDynamo cannot ask whether it was.")
    nodes = [node for one in setup.body for node in walk(one)]
    for node in nodes:
        if isinstance(node, ast.Return) and (node.value is not None or not setup.rest):
            raise Refused("What is set up once returns from its function.")
        if isinstance(node, _ENDS) or (isinstance(node, ast.Name) and node.id in ("super", "__class__")):
            raise Refused(f"Line {node.lineno}: `{source.code(node)}` belongs to the function around it.")
    behind = [] if setup.rest else [one for one in walk(function) if _is_behind(source, one, setup.question)]
    made = {name for one in setup.body for name in assigned(one)}
    if used := made & {one.id for one in behind if isinstance(one, ast.Name)}:
        raise Refused(f"`{min(used)}` is bound in what is set up once, and used behind it.")
    if not setup.rest and any(goes_over_lines(source, node) for node in nodes):
        raise Refused("A string over several lines stands in what would move.")
    reached = [*_reached(source, setup.body)]
    attributes = [one for one in walk(function) if isinstance(one, ast.Attribute)]
    changed = {one.attr for one in attributes if _is_stored_before(source, one, setup.question)}
    if read := changed & {one.attr for one in reached if isinstance(one, ast.Attribute)}:
        raise Refused(f"`{min(read)}` is stored before, and used in what is set up once.")
    for node in reached:
        if isinstance(node, ast.stmt) and effect_of(source, node) is not None:
            raise Refused(f"`{source.code(node)[:60]}` says something, which would come while TorchDynamo traces.")
        if isinstance(node, ast.Call) and _draws(source, node):
            raise Refused(
                f"`{source.code(node)[:60]}` may draw random numbers, which would come while TorchDynamo traces."
            )


def _is_module(source: Source, function: ast.FunctionDef, name: str) -> bool:
    given = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    parameter = next((one for one in given if one.arg == name), None)
    if parameter is None or any(name in assigned(one) for one in function.body):
        return False
    seen = Seen(source)
    uses = (one for one in walk(function) if isinstance(one, ast.Name) and one.id == name)
    facts = [fact for one in (parameter, *uses) if (fact := seen.of(one)) is not None]
    if not facts and name == "self":
        owner = source.owner(function)
        bases = [] if owner is None else [dotted(source, one) or "" for one in owner.bases]
        return any(one == "torch.nn.Module" for one in bases)
    if not facts or any(one.kinds != ("module",) for one in facts):
        return False
    seen.believe(parameter, "a module")
    return True


def _is_behind(source: Source, node: ast.AST, branch: ast.If) -> bool:
    return isinstance(node, (ast.stmt, ast.expr)) and source.range(node)[0] >= source.range(branch)[1]


def _is_stored_before(source: Source, node: ast.Attribute, branch: ast.If) -> bool:
    return not isinstance(node.ctx, ast.Load) and source.range(node)[0] < source.range(branch)[0]


def _reached(source: Source, body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """The nodes of statements, and of the functions and methods of the file that they call by name."""
    named: dict[str, list[Function]] = {}
    for node in source.nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            named.setdefault(node.name, []).append(node)
    waiting: list[tuple[ast.AST, int]] = [(one, 0) for one in body]
    seen: set[ast.AST] = set()
    while waiting:
        whole, depth = waiting.pop()
        if whole in seen:
            continue
        seen.add(whole)
        for node in walk(whole):
            yield node
            if isinstance(node, ast.Call) and depth < _DEEP:
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                waiting += [(one, depth + 1) for one in named.get(name, ()) if name != "forward"]


def _is_set(source: Source, body: Sequence[ast.stmt], flag: str) -> bool:
    """Whether statements, or what they call in the file, set an attribute of that name on every way: so they run once."""
    return _always_sets(source, body, flag, 0)


def _always_sets(source: Source, body: Sequence[ast.stmt], flag: str, depth: int) -> bool:
    """Whether no way through statements ends without the flag, but where another thread has set it."""
    for one in body:
        if isinstance(one, ast.With):
            if _always_sets(source, one.body, flag, depth):
                return True
        elif isinstance(one, (ast.Assign, ast.AnnAssign, ast.Expr)):
            nodes = list(walk(one))
            if any(_sets(node, flag) for node in nodes) and not _is_falsy(one.value):
                return True
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call) and depth < _DEEP:
                name = getattr(one.value.func, "id", getattr(one.value.func, "attr", ""))
                named = [each for each in source.nodes if isinstance(each, ast.FunctionDef) and each.name == name]
                if len(named) == 1 and _always_sets(source, named[0].body, flag, depth + 1):
                    return True
        elif isinstance(one, ast.If) and _returns(one) and _flag_of(source, one.test, True) == flag:
            continue
        if any(isinstance(node, ast.Return) for node in walk(one)):
            return False
    return False


def _is_falsy(value: ast.expr | None) -> bool:
    """Whether a flag with that value may still ask for the setup: None, False, 0, and what is empty."""
    parts = [*getattr(value, "elts", []), *getattr(value, "keys", [])]
    empty = isinstance(value, (ast.List, ast.Tuple, ast.Dict)) and not parts
    return value is None or empty or (isinstance(value, ast.Constant) and not value.value)


def _sets(node: ast.AST, flag: str) -> bool:
    """Whether a node gives an attribute of that name a value."""
    if isinstance(node, ast.Attribute):
        return node.attr == flag and isinstance(node.ctx, ast.Store)
    if not isinstance(node, ast.Call):
        return False
    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
    at = {"setattr": 1, "register_buffer": 0, "register_module": 0, "add_module": 0, "register_parameter": 0}.get(name)
    given = node.args[at] if at is not None and len(node.args) > at else None
    return isinstance(given, ast.Constant) and given.value == flag


def _draws(source: Source, call: ast.Call) -> bool:
    """Whether a call may draw random numbers: by its name, or as a layer that is made."""
    name = getattr(call.func, "id", getattr(call.func, "attr", ""))
    path = dotted(source, call.func) or ""
    layer = path.startswith("torch.nn.") and name[:1].isupper()
    ways = (".init.", ".random.", "random.", "numpy.random.")
    return (
        layer
        or name == "reset_parameters"
        or any(one in f".{path}" if one[0] == "." else path.startswith(one) for one in ways)
        or any(one.random for one in operators_named(name))
    )


def _mend(place: Place, setup: _Setup) -> Mend:
    source, function = setup.place.source, setup.function
    found = supported(source, function, "sets_up")
    if found is None:
        raise Refused("This file cannot import the support module, which has the decorator.")
    is_method = isinstance(source.parents.get(function), ast.ClassDef)
    name = _name(source, function, setup.rest, is_method)
    rest = setup.given[1:] if is_method else setup.given
    call = f"{'self.' if is_method else ''}{name}({', '.join(rest)})"
    head = [f'@{found[0]["sets_up"]}("{setup.flag}")', f"def {name}({', '.join(setup.given)}):"]
    return Mend(
        rule=RULE.name,
        title=f"Set modules up while TorchDynamo traces: `{name}`",
        path=source.path,
        span=place.request.site.span if setup.place is place else source.span(setup.question),
        edits=(*found[1], *_edits(source, setup, call, head, 1 if is_method else 2)),
        changes=(f"`{name}` runs while TorchDynamo traces, before the rest of the compiled function.",),
        assumes=(
            Assumption(
                "inside-effects",
                f"no code before `{name}` in the same call depends on what it sets up, or changes what it reads",
                tuple((source.path, source.span(one)) for one in (setup.question.test, *_calls_of(source, function))),
            ),
        ),
        inductor=True,
    )


def _calls_of(source: Source, function: ast.FunctionDef) -> Iterator[ast.Call]:
    """The calls of a function in its file, by its name."""
    for one in source.nodes:
        if isinstance(one, ast.Call) and getattr(one.func, "id", getattr(one.func, "attr", "")) == function.name:
            yield one


def _name(source: Source, function: ast.FunctionDef, rest: bool, is_method: bool) -> str:
    """A new name: of a method, one that no subclass in another file is likely to have."""
    own = _PREFIX.sub("", _PREFIX.sub("", function.name)) if rest else ""
    name = f"_{own}" if own and f"_{own}" != function.name else "_set_up"
    return source.fresh(f"{name}_once" if is_method else name)


def _edits(source: Source, setup: _Setup, call: str, head: list[str], gap: int) -> list[TextEdit]:
    base = source.indentation(setup.function)
    if not setup.rest:
        first, last = setup.body[0], setup.body[-1]
        inner = source.indentation(first)
        start, end = source.range(first)[0], source.range(last)[1]
        lines = [line.removeprefix(inner) for line in (inner + source.text.value[start:end]).splitlines()]
        definition = [*head, *(source.indent + line if line.strip() else "" for line in lines), *[""] * gap]
        return [
            edits.insert_before(source, setup.function, definition),
            edits.replace(source, first, last, [call]),
        ]
    inner = source.indentation(setup.body[0])
    line = source.span(setup.question).end.line
    while line < source.text.line_count and not source.text.line(line + 1).strip():
        line += 1  # behind blank lines
    at = source.text.starts[line - 1] + len(source.text.line(line))
    newline = source.newline
    text = newline.join(["", inner + call, *[""] * gap, *(base + line for line in head)])
    end = source.range(setup.body[-1])[
        1
    ]  # what moves into another function is part of the edit, although its lines stay
    return [TextEdit(source.path, source.between(at, end), text + source.text.value[at:end])]
