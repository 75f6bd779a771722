"""What statements may do besides giving values, for those that become an operator: they may only change what they make.

An operator may run later than it stands, or not at all where nobody uses its results. Pure reading of `Source`.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from graphmend_lsp.mending.facts.bindings import last_value, module_constant, operator_called
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.purity import hazards
from graphmend_lsp.mending.facts.seen import Seen
from graphmend_lsp.mending.rules.opaque import allowed
from graphmend_lsp.mending.rules.opaque.callee import argument, callee_of, default, defined, is_class, is_constant
from graphmend_lsp.mending.rules.opaque.changing import changing
from graphmend_lsp.mending.rules.opaque.decided import deciding
from graphmend_lsp.mending.rules.opaque.filled import OTHER_SHAPE
from graphmend_lsp.mending.rules.opaque.modules import (
    class_of,
    classes_called,
    forward_of,
    is_set_once,
    is_torchs,
    method_of,
    parts_of,
)
from graphmend_lsp.mending.rules.opaque.owned import Owned
from graphmend_lsp.mending.syntax.formatting import first_line
from graphmend_lsp.mending.syntax.imports import binding, dotted, is_builtin
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source, assigned, local_names, parameters
from graphmend_lsp.mending.syntax.support import is_supported
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Span

_DEEP = 3


@dataclass(frozen=True)
class Judge:
    """What refuses the statements of a function that would be an operator.

    `sources` are files that may hold functions which are called. `carried` are tensors that the statements may fill. What may
    raise is noted in `raises`; of functions that are called, the parameters that one changes in place in `changed`, and what may
    decide by data in `tests`. `flags` are parameters that hold no tensor. Of modules that are called, the classes that the file
    defines are noted in `modules`, with the attributes that must hold a module (``Expert.act``); `home` is the class of the
    method that is judged, when it is one of a module's, and `held` are such attributes of it. `skipped` are nodes, by identity,
    that do not run. `called` are the places of the functions that were judged besides.
    """

    source: Source
    function: Function
    statements: Sequence[ast.stmt]
    depth: int = 0
    sources: Mapping[str, str] = field(default_factory=dict)
    carried: Collection[str] = ()
    raises: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    tests: list[tuple[str, Span]] = field(default_factory=list)
    flags: Collection[str] = ()
    modules: list[str] = field(default_factory=list)
    called: list[tuple[str, Span]] = field(default_factory=list)
    home: ast.ClassDef | None = None
    held: list[str] = field(default_factory=list)
    skipped: Collection[int] = ()

    @property
    def owned(self) -> Owned:
        """What the statements may change, since they have made it."""
        return Owned(self.source, self.function, self.statements, self.carried)

    def refuse(self) -> None:
        """Refuse statements that do more than giving values.

        Raises:
            Refused: with the reason.
        """
        for one in (node for statement in self.statements for node in walk(statement)):
            if id(one) in self.skipped:
                continue
            if isinstance(one, (ast.Attribute, ast.Subscript)) and not isinstance(one.ctx, ast.Load):
                self._refuse_store(one)
            elif isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name):
                self._refuse_augmented(one)
            elif isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load):
                self._refuse_outer(one)
            elif isinstance(one, ast.Attribute) and one.attr in ("requires_grad", "grad_fn", "is_leaf"):
                raise Refused(f"`{self.source.code(one)}` reads gradients, which differ inside an operator.")
            elif isinstance(one, ast.FormattedValue) and Kinds(self.source).of(one.value) != "python":
                raise Refused(
                    f"The text of `{self.source.code(one.value)}` reads gradients, which differ inside an operator."
                )
            elif isinstance(one, ast.Call) and any(is_builtin(self.source, one.func, name) for name in allowed.TELLING):
                raise Refused(f"`{self.source.code(one)}` reads gradients, which differ inside an operator.")
            elif isinstance(one, ast.keyword) and one.arg in ("out", "inplace"):
                raise Refused(f"`{one.arg}=` changes what others may hold.")
            elif isinstance(one, ast.Expr) and self._checks(one.value):
                self.raises.append(first_line(self.source, one))
            elif isinstance(one, ast.Expr) and not (self._is_own_change(one.value) or self._only_gives(one.value)):
                raise Refused(f"`{first_line(self.source, one)}` may do more than give a value.")
            elif isinstance(one, ast.Attribute) and one.attr == "Parameter":
                raise Refused(f"`{self.source.code(one)}` is a plain tensor inside of an operator.")
            elif isinstance(one, (ast.Raise, ast.Assert)):
                self._note_raise(one)
        for hazard in (one for statement in self.statements for one in hazards(self.source, statement)):
            if id(hazard.node) in self.skipped:
                continue
            if any(isinstance(around, ast.Raise) for around in self.source.ancestors(hazard.node)):
                continue  # an exception is made
            if hazard.kind == "random":
                raise Refused(f"`{self.source.code(hazard.node)}` draws random numbers.")
            if hazard.kind in ("effect", "compute") and not self._is_allowed(hazard.node):
                raise Refused(f"`{self.source.code(hazard.node)}` {hazard.words}, and may do more than give a value.")

    def _checks(self, value: ast.expr) -> bool:
        return isinstance(value, ast.Call) and is_supported(self.source, value.func, "check")

    def _note_raise(self, one: ast.Raise | ast.Assert) -> None:
        """Note what may raise; refuse an exception that is made of more than texts, numbers and sizes."""
        line = first_line(self.source, one)
        made = one.exc if isinstance(one, ast.Raise) else one.msg
        given = [*made.args, *(each.value for each in made.keywords)] if isinstance(made, ast.Call) else []
        given = [made] if isinstance(one, ast.Assert) and made is not None else given
        if isinstance(one, ast.Raise) and made is None:
            raise Refused(f"`{line}` raises what was caught.")
        if not all(self._is_said(value) for value in given):
            raise Refused(f"`{line}` may raise; mend the check by itself.")
        self.raises.append(line)

    def _is_said(self, value: ast.expr) -> bool:
        """Whether a part of an exception is a text, or made of texts, numbers and sizes."""
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "format":
            return all(self._is_said(one) for one in (value.func.value, *value.args))
        if isinstance(value, ast.JoinedStr):
            return all(self._is_said(one.value) for one in value.values if isinstance(one, ast.FormattedValue))
        fact = Seen(self.source).of(value)
        return (
            isinstance(value, ast.Constant) or Kinds(self.source).of(value) == "python" or bool(fact and fact.is_plain)
        )

    def _refuse_store(self, target: ast.Attribute | ast.Subscript) -> None:
        root: ast.expr = target
        while isinstance(root, ast.Subscript):
            root = root.value
        name = root.id if isinstance(target, ast.Subscript) and isinstance(root, ast.Name) else ""
        deep = root is not target.value
        one_memory = self.owned.is_tensor(root) or self.owned.is_array(root)
        stores = name and isinstance(target.ctx, ast.Store) and (one_memory or not deep)
        if stores and (self._may_fill(name) or (deep and self.owned.is_own(root))):
            return
        if not (isinstance(target.value, ast.Name) and self.owned.is_own(target.value)):
            raise Refused(f"`{self.source.code(target)}` is stored in what others may hold.")
        change = self.source.parents.get(target)
        if isinstance(change, ast.AugAssign) and self.owned.is_container(target.value) and not self._is_number(target):
            raise Refused(f"`{first_line(self.source, change)}` changes in place what others may hold.")

    def _is_contained(self, node: ast.expr) -> bool:
        """Whether a value is surely a list, tuple, dict, set or text."""
        fact = Seen(self.source).of(node)
        if fact is not None and allowed.CONTAINED.issuperset(fact.kinds):
            Seen(self.source).believe(node, f"of type {fact.kinds[0]}")
            return True
        return isinstance(node, ast.Name) and self.owned.is_container(node)

    def _is_number(self, node: ast.expr) -> bool:
        """Whether a value is surely no tensor."""
        fact = Seen(self.source).of(node)
        return fact.is_plain if fact is not None else Kinds(self.source).of(node) == "python"

    def _may_fill(self, name: str) -> bool:
        """Whether a tensor is one that the statements may fill, or a parameter of a function that they call."""
        if self.depth == 0 or name not in parameters(self.function):
            return name in self.carried
        if any(name in assigned(one) for one in self.function.body):
            return False
        self.changed.append(name)
        return True

    def _refuse_augmented(self, one: ast.AugAssign) -> None:
        assert isinstance(one.target, ast.Name)
        if one.target.id in self.carried:
            return
        if not self._is_number(one.target) and not self.owned.is_own(one.target):
            raise Refused(f"`{first_line(self.source, one)}` changes in place what others may hold.")

    def _refuse_outer(self, name: ast.Name) -> None:
        """Refuse names from outside of the function whose values may change: what a graph does to them comes later."""
        if any(name.id in local_names(one) for one in self._functions_at(name)) or is_builtin(
            self.source, name, name.id
        ):
            return
        around = self.source.function(self.function)
        if around is not None and name.id in local_names(around):
            raise Refused(f"`{name.id}` belongs to a function around; what it holds may change.")
        if binding(self.source, name.id, name) is not None or self._definition(name.id) is not None:
            return
        raised = any(isinstance(one, ast.Raise) for one in self.source.ancestors(name))
        if raised and is_class(self.source, name.id):
            return
        bound = any(name.id in assigned(one) for one in self._comprehensions())
        if not bound and not is_constant(self.source, module_constant(self.source, name)):
            raise Refused(f"`{name.id}` comes from outside of the function, and what it holds may change.")

    def _functions_at(self, node: ast.AST) -> Iterator[Function]:
        """The functions around a node, from the innermost to the one that holds the statements."""
        around = self.source.function(node)
        while around is not None and around is not self.function:
            yield around
            around = self.source.function(around)
        yield self.function

    def _comprehensions(self) -> Iterator[ast.AST]:
        for statement in self.statements:
            for one in walk(statement):
                if isinstance(one, ast.comprehension):
                    yield one.target
                elif isinstance(one, ast.Lambda):
                    yield from (ast.Name(arg.arg, ast.Store()) for arg in one.args.args)

    def _is_allowed(self, node: ast.AST) -> bool:
        """Whether what is not known to compute only does so, or changes what the statements have made."""
        if not isinstance(node, ast.Call):
            return False
        if self.home is not None and self._is_module_of_home(node.func):
            return True
        if (classes := classes_called(self.source, node.func)) and all(map(self._computes, classes)):
            Seen(self.source).believe(node.func, "a module that only computes")
            return True
        name = dotted(self.source, node.func)
        if name is not None:
            pure = name in allowed.PURE_TORCH or (
                name.startswith(allowed.PURE_PACKAGES) and not name.startswith(allowed.IMPURE)
            )
            return pure or self._only_computes(node)
        if isinstance(node.func, ast.Name):
            if is_builtin(self.source, node.func, "iter"):
                return self.owned.is_iterator_made(node)
            if is_builtin(self.source, node.func, "next"):
                return len(node.args) == 1 and self.owned.is_iterator(node.args[0])
            if any(is_builtin(self.source, node.func, one) for one in allowed.PURE if one == node.func.id):
                return True
            return self._holds(node.func.id) or self._only_computes(node)
        if isinstance(node.func, ast.Attribute):
            if isinstance(node.func.value, ast.Name) and node.func.value.id == "self":
                return self._only_computes(node)
            method = node.func.attr
            changes = (method.endswith("_") and not method.endswith("__")) or method in allowed.OF_OWN
            root = node.func.value
            if isinstance(root, ast.Name) and root.id in self.carried and method in OTHER_SHAPE:
                return False
            reads = method in allowed.READING and self._is_contained(root)
            return (changes and self.owned.is_own(root)) or reads or method in allowed.ARRAYS or method == "backward"
        if isinstance(node.func, ast.Subscript) and isinstance(node.func.value, ast.Name):
            table = last_value(self.source, node.func.value.id, self.source.statement(node) or self.statements[0])
            parts = table.elts if isinstance(table, (ast.List, ast.Tuple)) else []
            return bool(parts) and all(self._is_pure(one) for one in parts)
        return False

    def _holds(self, name: str) -> bool:
        """Whether a name surely is a function among the statements, whose body is judged as they are."""
        nodes = [one for one in walk(self.function) if isinstance(one, (ast.FunctionDef, ast.Name))]
        made = [one for one in nodes if getattr(one, "name", "") == name]
        bound = any(isinstance(one, ast.Name) and one.id == name and not isinstance(one.ctx, ast.Load) for one in nodes)
        if len(made) != 1 or bound or name in parameters(self.function):
            return False
        return any(made[0] is one for statement in self.statements for one in walk(statement))

    def _is_own_change(self, value: ast.expr) -> bool:
        """Whether an expression whose value nobody uses is a text, or a change of what the statements have made."""
        if isinstance(value, ast.Constant):
            return True
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            return self._definition(value.func.id) is not None and self._is_allowed(value)
        if not (isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute)):
            return False
        return value.func.attr == "backward" or self.owned.is_own(value.func.value)

    def _only_gives(self, value: ast.expr) -> bool:
        """Whether a call, whose value nobody uses, is of an operator that does nothing else."""
        made = operator_called(self.source, value) if isinstance(value, ast.Call) else None
        return made is not None and not (made.effect or made.random)

    def _is_pure(self, called: ast.expr) -> bool:
        probe = ast.Call(func=called, args=[], keywords=[])
        made = operator_called(self.source, probe)
        return made is not None and not (made.effect or made.random)

    def _only_computes(self, call: ast.Call) -> bool:
        """Whether a function only computes, or changes besides only arguments that these statements have made."""
        callee = callee_of(self.source, call, self.sources)
        if callee is None or self.depth >= _DEEP:
            return False
        source, made = callee.source, callee.function
        if made.decorator_list and not isinstance(source.parents[made], ast.ClassDef):
            return False
        if any(isinstance(one, (ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom, ast.Await)) for one in walk(made)):
            return False
        flags = [name for name in parameters(made) if self._is_plain(argument(call, made, name) or default(made, name))]
        inner = Judge(
            source, made, made.body, self.depth + 1, self.sources, raises=self.raises, tests=self.tests, flags=flags,
            modules=self.modules, called=self.called,
        )  # fmt: skip
        try:
            inner.refuse()
        except Refused:
            return False
        self.tests.extend((source.path, source.span(one)) for one in deciding(source, made.body, flags))
        self.called.append((source.path, source.span(made)))
        return all(
            given is not None and self.owned.is_own(given)
            for given in (argument(call, made, one) for one in inner.changed)
        )

    def _computes(self, path: str) -> bool:
        """Whether a module of that class, and each that it makes, only computes."""
        if is_torchs(path):
            return True
        made = class_of(self.source, path)
        return made is not None and self._runs(made, forward_of(made))

    def _runs(self, home: ast.ClassDef, method: ast.FunctionDef | None) -> bool:
        """Whether a method of a module of the file only computes."""
        if method is None or self.depth >= _DEEP:
            return False
        inner = Judge(
            self.source, method, method.body, self.depth + 1, self.sources, raises=self.raises, tests=self.tests,
            modules=self.modules, called=self.called, home=home,
        )  # fmt: skip
        if not inner.only_computes() or changing(self.source, home, method, self.sources):
            return False
        self.tests.extend((self.source.path, self.source.span(one)) for one in deciding(self.source, method.body))
        self.called.append((self.source.path, self.source.span(method)))
        known = (home.name, *(f"{home.name}.{one}" for one in inner.held))
        self.modules.extend(one for one in known if one not in self.modules)
        return True

    def only_computes(self) -> bool:
        """Whether the statements do nothing but give a value, and change nothing of what they are given."""
        nodes = [one for statement in self.statements for one in walk(statement)]
        if any(isinstance(one, (ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom, ast.Await)) for one in nodes):
            return False
        try:
            self.refuse()
        except Refused:
            return False
        return not self.changed

    def _is_module_of_home(self, called: ast.expr) -> bool:
        """Whether a method of a module calls a module that it has made, or another of its methods that only computes.

        Of an attribute that ``__init__`` sets to what is not known, the operator asks whether it is a module, and of which kind.
        """
        assert self.home is not None
        while isinstance(called, ast.Subscript):
            called = called.value
        if isinstance(called, ast.Name):
            loops = [one for one in self.source.ancestors(called) if isinstance(one, (ast.For, ast.comprehension))]
            around = next((one for one in loops if called.id in assigned(one.target)), None)
            return around is not None and isinstance(around.target, ast.Name) and self._is_module_of_home(around.iter)
        if not (isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "self"):
            return False
        parts = parts_of(self.source, self.home)
        if called.attr not in parts:
            method = method_of(self.home, called.attr)
            if method is not None:
                return method is not self.function and self._runs(self.home, method)
            self.held.append(called.attr)
            return is_set_once(self.source, self.home, called.attr)
        module = self.source.path.replace("\\", "/").rpartition("/")[2].removesuffix(".py")
        return all(self._computes(f"{module}.{name}") for name in sorted(parts[called.attr]))

    def _is_plain(self, given: ast.expr | None) -> bool:
        """Whether an argument is surely no tensor."""
        if isinstance(given, ast.Name) and given.id in self.flags:
            return not any(given.id in assigned(one) for one in self.function.body)
        return given is not None and Kinds(self.source).of(given) == "python"

    def _definition(self, name: str) -> ast.FunctionDef | None:
        return defined(self.source, name)
