"""From the functions that are compiled to everything in the file they call, each walked with what its callers pass.

Answers the questions that a walk asks of the rest of the file (`World.answer`), and walks again only the
functions whose text, arguments or answers have changed. Knows no kind of break; see `detectors`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from graphmend_lsp.analysis.detectors import BY_SIGHT
from graphmend_lsp.analysis.expressions import evaluate
from graphmend_lsp.analysis.kinds import PYTHON, UNKNOWN, Kind, join, join_all, of_annotation
from graphmend_lsp.analysis.names import words
from graphmend_lsp.analysis.outline import Chunk, Class, Function
from graphmend_lsp.analysis.parameters import bind_parameters, is_property, is_static, parameters
from graphmend_lsp.analysis.scope import Call, Found, Question, Scope
from graphmend_lsp.analysis.statements import walk

_COMPILERS = frozenset({"torch.compile", "torch._dynamo.optimize", "torch._dynamo.optimize_assert"})
# Functions under these decorators are not traced by Dynamo.
_NOT_ENTERED = words(
    "torch.compiler.disable torch._dynamo.disable torch._disable_dynamo torch.compiler.assume_constant_result "
    "torch._dynamo.assume_constant_result torch.compiler.allow_in_graph torch._dynamo.allow_in_graph "
    "torch._dynamo.nonstrict_trace torch._dynamo.disallow_in_graph torch.library.custom_op "
    "graphmend_support.operator graphmend_support.sets_up graphmend_support.while_tracing "
    "torch.library.triton_op torch.jit.script torch.jit.ignore triton.jit triton.autotune numba.njit numba.jit"
)
_NO_MODULE_BASES = frozenset({"Function", "Protocol", "ABC", "Enum", "object", "NamedTuple", "TypedDict", "Exception"})
_MEMORY = 6
_DEPTH = 12


@dataclass(frozen=True, slots=True)
class Walked:
    """What one walk through a function gave, and the answers it rests on."""

    passed: tuple[tuple[str, Kind], ...]
    asked: tuple[tuple[Question, Kind], ...]
    found: tuple[Found, ...]
    calls: tuple[Call, ...]
    returns: Kind
    stores: dict[str, Kind]


class World:
    """One file's declarations together; made anew for every text, it remembers answers only for that text."""

    def __init__(self, chunks: list[Chunk]) -> None:
        self._imports: dict[str, str] = {}
        self._assigned: dict[str, list[ast.expr | None]] = {}
        self._functions: dict[str, Function] = {}
        self._classes: dict[str, Class] = {}
        for chunk in chunks:
            self._imports.update(chunk.imports)
            for name, values in chunk.assigned.items():
                self._assigned.setdefault(name, []).extend(values)
            self._functions.update(chunk.functions)
            self._classes.update(chunk.classes)
            for each in chunk.classes.values():
                self._functions.update({method.name: method for method in each.methods.values()})
        self._chunks = chunks
        self._answers: dict[Question, Kind] = {}
        self._stores: dict[str, dict[str, Kind]] = {}
        self._open: set[Question] = set()

    def reached(self) -> Iterator[tuple[Function, Walked]]:
        """Every function that a compiled region can reach, walked with what is known of its arguments in the end."""
        passed: dict[str, dict[str, Kind]] = {}
        results: dict[str, Walked] = {}
        waiting = []
        for root in self._roots():
            if root.name not in passed:
                passed[root.name] = {argument.arg: UNKNOWN for argument, _ in parameters(root.node)}
                waiting.append(root.name)
        while waiting:
            name = waiting.pop()
            walked = self.walk(self._functions[name], passed[name])
            results[name] = walked
            for call in walked.calls:
                callee = self._functions.get(call.callee)
                if callee is None or not self._is_entered(callee):
                    continue
                given = _matched(callee, call)
                known = passed.get(callee.name)
                joined = given if known is None else {arg: join(known[arg], given[arg]) for arg in known}
                if joined != known:
                    passed[callee.name] = joined
                    if callee.name not in waiting:
                        waiting.append(callee.name)
        for name, walked in results.items():
            yield self._functions[name], walked

    def walk(self, function: Function, passed: dict[str, Kind]) -> Walked:
        """The result of walking one function with these arguments."""
        key = tuple(passed.items())
        for known in function.memo:
            if known.passed == key and all(self.answer(question) == answer for question, answer in known.asked):
                result: Walked = known
                return result
        scope = Scope(function, self.answer, BY_SIGHT)
        bind_parameters(scope, function, passed)
        if not walk(scope, function.node.body):
            returns = join_all(scope.returns)
        else:
            returns = join_all([*scope.returns, Kind("none")]) if scope.returns else PYTHON
        walked = Walked(
            key, tuple(scope.asked.items()), tuple(scope.found.values()), tuple(scope.calls), returns, scope.stores
        )
        function.memo.insert(0, walked)
        del function.memo[_MEMORY:]
        return walked

    def answer(self, question: Question) -> Kind:
        """What the file says to a question of a walk; unknown while the same question is being answered."""
        known = self._answers.get(question)
        if known is not None:
            return known
        if question in self._open or len(self._open) > _DEPTH:
            return UNKNOWN
        self._open.add(question)
        try:
            kind = self._answer(question)
        finally:
            self._open.discard(question)
        self._answers[question] = kind
        return kind

    def _answer(self, question: Question) -> Kind:
        subject, name = question[0], question[1]
        if subject == "name":
            return self._global(name)
        if subject == "const":
            values = self._assigned.get(name, [])
            if len(values) == 1 and isinstance(values[0], ast.Constant) and isinstance(values[0].value, bool):
                return Kind("python", str(values[0].value))
            return UNKNOWN
        if subject == "attr":
            return self._attribute(name, question[2], question[3])
        if subject == "return":
            return self._returned(name)
        if subject == "instance":
            return Kind("module", name) if self.is_module(name) else UNKNOWN
        if subject == "generic":
            function = self._functions.get(name)
            names = {self._dotted(each) for each in function.decorators} if function else set()
            return PYTHON if "contextlib.contextmanager" in names else UNKNOWN
        return UNKNOWN

    def _global(self, name: str) -> Kind:
        if name in self._assigned:
            kinds = [UNKNOWN if value is None else self._evaluated(value) for value in self._assigned[name]]
            if name in self._imports:
                kinds.append(Kind("ref", self._imports[name]))
            return join_all(kinds)
        if name in self._functions:
            return Kind("function", name)
        if name in self._classes:
            return Kind("class", name)
        return Kind("ref", self._imports[name]) if name in self._imports else UNKNOWN

    def _evaluated(self, value: ast.expr) -> Kind:
        return evaluate(Scope(None, self.answer, {}), value)

    def _returned(self, name: str) -> Kind:
        function = self._functions.get(name)
        if function is None:
            return UNKNOWN
        promised = of_annotation(function.node.returns)
        if promised != UNKNOWN:
            return promised
        if not self._is_entered(function) or isinstance(function.node, ast.AsyncFunctionDef) or function.yields():
            return UNKNOWN
        return self.walk(function, {argument.arg: UNKNOWN for argument, _ in parameters(function.node)}).returns

    def _attribute(self, owner: str, name: str, tag: str) -> Kind:
        classes = self._lineage(owner)
        for each in classes[1:] if tag == "super" else classes:
            method = each.methods.get(name)
            if method is not None:
                if is_property(method):
                    return Kind("property", method.name)
                bound = tag != "class" and not is_static(method)
                return Kind("method", method.name, (Kind("class", owner),)) if bound else Kind("function", method.name)
            if name == "apply" and tag == "class" and "forward" in each.methods and self._is_autograd(each):
                return Kind("method", each.methods["forward"].name, (Kind("class", owner),))
            stored = self._stored(each).get(name)
            if stored is not None and tag != "class":
                return stored
            if name in each.annotations:
                return of_annotation(each.annotations[name])
        if name in ("weight", "bias") and any(
            base.startswith("torch.nn.") and base != "torch.nn.Module" for each in classes for base in self._bases(each)
        ):
            return Kind("tensor")
        return PYTHON if name == "training" and self.is_module(owner) else UNKNOWN

    def _stored(self, owner: Class) -> dict[str, Kind]:
        """What the constructor stores in each attribute; unknown for those that other methods store too."""
        known = self._stores.get(owner.name)
        if known is not None:
            return known
        self._stores[owner.name] = {}
        stores: dict[str, Kind] = {}
        constructor = owner.methods.get("__init__")
        if constructor is not None:
            passed = {argument.arg: UNKNOWN for argument, _ in parameters(constructor.node)}
            stores = dict(self.walk(constructor, passed).stores)
        for method in owner.methods.values():
            if method is not constructor:
                for attribute in method.stores():
                    if stores.get(attribute, UNKNOWN).tag not in ("module", "tensor", "logger"):
                        stores[attribute] = UNKNOWN
        self._stores[owner.name] = stores
        return stores

    def _lineage(self, owner: str) -> list[Class]:
        """The class and its bases in this file, nearest first."""
        found: list[Class] = []
        waiting = [owner]
        while waiting:
            each = self._classes.get(waiting.pop(0))
            if each is not None and each not in found:
                found.append(each)
                waiting += [base.id for base in each.bases if isinstance(base, ast.Name)]
        return found

    def _is_autograd(self, each: Class) -> bool:
        return any(
            base in ("torch.autograd.Function", "torch.autograd.function.Function") for base in self._bases(each)
        )

    def _bases(self, each: Class) -> list[str]:
        return [self._dotted(base) for base in each.bases]

    def is_module(self, owner: str) -> bool:
        """Whether a class of the file is certainly enough an `nn.Module`."""
        lineage = self._lineage(owner)
        bases = [base for each in lineage for base in self._bases(each)]
        if any(base.startswith("torch.nn.") and base.rpartition(".")[2][:1].isupper() for base in bases):
            return True
        if any(base.rpartition(".")[2] in _NO_MODULE_BASES for base in bases):
            return False
        foreign = any(base and base not in self._classes for base in bases)
        return foreign and any("forward" in each.methods for each in lineage)

    def _roots(self) -> Iterator[Function]:
        for each in self._classes.values():
            forward = each.methods.get("forward")
            if (
                forward is not None
                and not is_static(forward)
                and self._is_entered(forward)
                and self.is_module(each.name)
            ):
                yield forward
        for chunk in self._chunks:
            if not chunk.mentions_compile:
                continue
            for function in self._in(chunk):
                if self._is_compiled(function) and self._is_entered(function):
                    yield function
            for call in chunk.compiled:
                if call.args and self._dotted(call.func) in _COMPILERS:
                    yield from (each for each in self._meant(call.args[0]) if self._is_entered(each))

    def _in(self, chunk: Chunk) -> Iterator[Function]:
        yield from chunk.functions.values()
        for each in chunk.classes.values():
            yield from each.methods.values()

    def _is_compiled(self, function: Function) -> bool:
        for each in function.decorators:
            if self._dotted(each) in _COMPILERS:
                return True
            if isinstance(each, ast.Call) and each.args and self._dotted(each.func) == "functools.partial":
                return self._dotted(each.args[0]) in _COMPILERS
        return False

    def _is_entered(self, function: Function) -> bool:
        return not any(self._dotted(each) in _NOT_ENTERED for each in function.decorators)

    def _meant(self, argument: ast.expr) -> Iterator[Function]:
        """The functions of this file that an expression given to `torch.compile` can mean."""
        if isinstance(argument, ast.Name):
            ending = f".<locals>.{argument.id}"
            yield from (each for name, each in self._functions.items() if name == argument.id or name.endswith(ending))
        elif isinstance(argument, ast.Attribute):
            yield from (each.methods[argument.attr] for each in self._classes.values() if argument.attr in each.methods)

    def _dotted(self, node: ast.expr) -> str:
        """The dotted name of a decorator or base as imported; a call's is that of what it calls."""
        parts: list[str] = []
        while True:
            if isinstance(node, ast.Call):
                node = node.func
            elif isinstance(node, ast.Attribute):
                parts.insert(0, node.attr)
                node = node.value
            elif isinstance(node, ast.Subscript):
                node = node.value
            else:
                break
        if not isinstance(node, ast.Name):
            return ""
        return ".".join([self._imports.get(node.id, node.id), *parts])


def _matched(callee: Function, call: Call) -> dict[str, Kind]:
    """The kind each parameter gets from a call; what the call leaves out is its default's business."""
    names = [argument.arg for argument, _ in parameters(callee.node)]
    if not call.known:
        return dict.fromkeys(names, UNKNOWN)
    keywords = dict(call.keywords)
    given = dict(zip(names, call.positional, strict=False))
    return {name: given.get(name, keywords.get(name, Kind("none"))) for name in names}
