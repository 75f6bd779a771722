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
from graphmend_lsp.mending.rules.opaque.callee import argument, default, defined, is_class, is_constant
from graphmend_lsp.mending.rules.opaque.containers import makes_array, makes_container
from graphmend_lsp.mending.rules.opaque.decided import deciding
from graphmend_lsp.mending.rules.opaque.filled import OTHER_SHAPE
from graphmend_lsp.mending.syntax.endings import sets
from graphmend_lsp.mending.syntax.formatting import first_line
from graphmend_lsp.mending.syntax.imports import binding, dotted, is_builtin
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source, assigned, loaded, local_names, parameters, read
from graphmend_lsp.mending.syntax.support import is_supported
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Span

_DEEP = 3


@dataclass(frozen=True)
class Judge:
    """What refuses the statements of a function that would be an operator.

    `sources` are files that may hold functions which are called. `carried` are tensors that the statements may fill. What may
    raise is noted in `raises`; of functions that are called, the parameters that one changes in place in `changed`, and what may
    decide by data in `tests`. `flags` are parameters that hold no tensor.
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

    def refuse(self) -> None:
        """Refuse statements that do more than giving values.

        Raises:
            Refused: with the reason.
        """
        for one in (node for statement in self.statements for node in walk(statement)):
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
        one_memory = self._is_tensor(root) or self._is_array(root)
        stores = name and isinstance(target.ctx, ast.Store) and (one_memory or not deep)
        if stores and (self._may_fill(name) or (deep and self._is_own(root))):
            return
        if not (isinstance(target.value, ast.Name) and self._is_own(target.value)):
            raise Refused(f"`{self.source.code(target)}` is stored in what others may hold.")
        change = self.source.parents.get(target)
        if isinstance(change, ast.AugAssign) and self._is_container(target.value) and not self._is_number(target):
            raise Refused(f"`{first_line(self.source, change)}` changes in place what others may hold.")

    def _is_tensor(self, name: ast.expr) -> bool:
        """Whether a name surely holds a tensor, whose parts are parts of its memory, or new."""
        return isinstance(name, ast.Name) and not self._is_container(name) and Kinds(self.source).of(name) == "tensor"

    def _is_array(self, name: ast.expr) -> bool:
        """Whether a name surely holds an array that the statements have made, whose parts are parts of its memory."""
        values = list(self._values(name.id)) if isinstance(name, ast.Name) else []
        return bool(values) and all(one is not None and makes_array(self.source, one) for one in values)

    def _is_container(self, name: ast.Name) -> bool:
        """Whether a name may hold a container that the statements have made, whose elements others may hold."""
        return any(makes_container(self.source, value) for value in self._values(name.id) if value is not None)

    def _is_contained(self, node: ast.expr) -> bool:
        """Whether a value is surely a list, tuple, dict, set or text."""
        fact = Seen(self.source).of(node)
        if fact is not None and allowed.CONTAINED.issuperset(fact.kinds):
            Seen(self.source).believe(node, f"of type {fact.kinds[0]}")
            return True
        return isinstance(node, ast.Name) and self._is_container(node)

    def _holds_containers(self, name: ast.Name) -> bool:
        """Whether a name surely holds a list of as many new containers, to which no other is added."""
        values = list(self._values(name.id))
        made = all(isinstance(one, ast.ListComp) and makes_container(self.source, one.elt) for one in values)
        uses = [
            self.source.parents.get(one)
            for one in walk(self.function)
            if isinstance(one, ast.Name) and one.id == name.id
        ]
        kept = any(
            isinstance(one, ast.Attribute) or (isinstance(one, ast.Subscript) and not isinstance(one.ctx, ast.Load))
            for one in uses
        )
        return bool(values) and made and not kept

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
        if not self._is_number(one.target) and not self._is_own(one.target):
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
        name = dotted(self.source, node.func)
        if name is not None:
            pure = name in allowed.PURE_TORCH or (
                name.startswith(allowed.PURE_PACKAGES) and not name.startswith(allowed.IMPURE)
            )
            return pure or self._only_computes(node, *self._elsewhere(name))
        if isinstance(node.func, ast.Name):
            if any(is_builtin(self.source, node.func, one) for one in allowed.PURE if one == node.func.id):
                return True
            return self._holds(node.func.id) or self._only_computes(node, self.source, self._definition(node.func.id))
        if isinstance(node.func, ast.Attribute):
            if isinstance(node.func.value, ast.Name) and node.func.value.id == "self":
                return False
            method = node.func.attr
            changes = (method.endswith("_") and not method.endswith("__")) or method in allowed.OF_OWN
            root = node.func.value
            if isinstance(root, ast.Name) and root.id in self.carried and method in OTHER_SHAPE:
                return False
            reads = method in allowed.READING and self._is_contained(root)
            return (changes and self._is_own(root)) or reads or method in allowed.ARRAYS or method == "backward"
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
        return value.func.attr == "backward" or self._is_own(value.func.value)

    def _only_gives(self, value: ast.expr) -> bool:
        """Whether a call, whose value nobody uses, is of an operator that does nothing else."""
        made = operator_called(self.source, value) if isinstance(value, ast.Call) else None
        return made is not None and not (made.effect or made.random)

    def _is_pure(self, called: ast.expr) -> bool:
        probe = ast.Call(func=called, args=[], keywords=[])
        made = operator_called(self.source, probe)
        return made is not None and not (made.effect or made.random)

    def _only_computes(self, call: ast.Call, source: Source | None, made: ast.FunctionDef | None) -> bool:
        """Whether a function only computes, or changes besides only arguments that these statements have made."""
        if source is None or made is None or self.depth >= _DEEP or made.decorator_list:
            return False
        if any(isinstance(one, (ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom, ast.Await)) for one in walk(made)):
            return False
        flags = [name for name in parameters(made) if self._is_plain(argument(call, made, name) or default(made, name))]
        inner = Judge(
            source, made, made.body, self.depth + 1, self.sources, raises=self.raises, tests=self.tests, flags=flags
        )
        try:
            inner.refuse()
        except Refused:
            return False
        self.tests.extend((source.path, source.span(one)) for one in deciding(source, made.body, flags))
        return all(
            given is not None and self._is_own(given) for given in (argument(call, made, one) for one in inner.changed)
        )

    def _is_plain(self, given: ast.expr | None) -> bool:
        """Whether an argument is surely no tensor."""
        if isinstance(given, ast.Name) and given.id in self.flags:
            return not any(given.id in assigned(one) for one in self.function.body)
        return given is not None and Kinds(self.source).of(given) == "python"

    def _elsewhere(self, name: str) -> tuple[Source | None, ast.FunctionDef | None]:
        """The function of another file that an imported name surely is."""
        module, _, last = name.rpartition(".")
        end = "/" + module.replace(".", "/") + ".py"
        paths = [path for path in self.sources if path.replace("\\", "/").endswith(end)]
        source = read(paths[0], self.sources[paths[0]]) if module and len(paths) == 1 else None
        if not isinstance(source, Source):
            return None, None
        return source, defined(source, last)

    def _definition(self, name: str) -> ast.FunctionDef | None:
        return defined(self.source, name)

    def _is_own(self, node: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
        """Whether a value is surely made by these statements, or a view of such a tensor, and nothing else holds it."""
        if isinstance(node, ast.Name):
            if node.id in seen or node.id in self.carried:
                return True  # of what else the name is made of, the others tell
            values = list(self._values(node.id))
            return bool(values) and all(value is not None and self._makes(value, seen | {node.id}) for value in values)
        return self._makes(node, seen)

    def _values(self, name: str) -> Iterator[ast.expr | None]:
        """What the function gives a name; None for what is not made by these statements."""
        inside = {id(one) for statement in self.statements for one in walk(statement)}
        own = self._begins_with(name)
        for one in walk(self.function):
            if own and id(one) not in inside:
                continue  # no value from outside arrives
            if isinstance(one, ast.arg) and one.arg == name:
                yield None
            elif isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store):
                parent = self.source.parents.get(one)
                if isinstance(parent, ast.AugAssign):
                    continue
                plain = (isinstance(parent, ast.Assign) and one in parent.targets) or (
                    isinstance(parent, ast.AnnAssign) and one is parent.target
                )
                made = parent.value if plain and isinstance(parent, (ast.Assign, ast.AnnAssign)) else None
                yield made if id(one) in inside else None

    def _begins_with(self, name: str) -> bool:
        """Whether the first of the statements that speaks of a local name gives it a value, and no inner function does."""
        nodes = (one for one in walk(self.function) if isinstance(one, (ast.Global, ast.Nonlocal)))
        if any(name in one.names for one in nodes):
            return False
        for statement in self.statements:
            if any(isinstance(one, ast.Name) and one.id == name for one in walk(statement)):
                plain = isinstance(statement, (ast.Assign, ast.AnnAssign)) and name in sets(self.source, statement)
                return plain and statement.value is not None and name not in loaded(statement)  # type: ignore[attr-defined]
        return False

    def _makes(self, value: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
        new = makes_container(self.source, value) or makes_array(self.source, value)
        if new or isinstance(value, (ast.BinOp, ast.Compare, ast.Constant)):
            return True
        if isinstance(value, ast.UnaryOp):
            return not isinstance(value.op, ast.UAdd)
        if isinstance(value, ast.Subscript):
            return self._is_part(value, seen)
        if not isinstance(value, ast.Call):
            return False
        if isinstance(value.func, ast.Attribute) and dotted(self.source, value.func) is None:
            method = value.func.attr
            if method == "numpy":
                return self._is_own(value.func.value, seen)
            if method.endswith("_") and not method.endswith("__"):
                return not isinstance(value.func.value, ast.Name) and self._is_own(value.func.value, seen)
        made = operator_called(self.source, value)
        if made is None or not made.is_tensor or made.effect:
            return False
        return made.is_new or self._is_part(value, seen)

    def _is_part(self, value: ast.expr, seen: frozenset[str]) -> bool:
        """Whether a value is a view of a tensor that the statements have made: elements of a container are others' tensors."""
        part = value.func if isinstance(value, ast.Call) else value
        if not isinstance(part, (ast.Attribute, ast.Subscript)) or dotted(self.source, part) is not None:
            return False
        root: ast.expr = part.value
        if part is value and isinstance(root, ast.Name) and self._holds_containers(root):
            return True
        return isinstance(root, ast.Name) and self._is_tensor(root) and self._is_own(root, seen)
