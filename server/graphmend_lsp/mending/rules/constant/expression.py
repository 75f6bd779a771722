"""Whether an expression is computed from constants alone, what kind of thing it gives, and its text at module level.

Pure reading of `Source` by the tables of `pure`; what is in no table is not constant.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from graphmend_lsp.mending.rules.constant.pure import BUILTINS, FUNCTIONS, METHODS, OF_TEXT, OF_TYPES, Result
from graphmend_lsp.mending.syntax.formatting import operand, render
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source, assigned, local_names
from graphmend_lsp.mending.syntax.walk import walk

_CONTAINERS = (ast.List, ast.Tuple, ast.Set)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass
class Reading:
    """What reading an expression found out.

    `local` are names of the function that hold a constant, with its text; `anchors` the statements of the module that bind
    what the expression needs; `given` the texts that only a call knows, where a function of text takes them.
    """

    source: Source
    sources: Mapping[str, str]
    local: dict[ast.AST, str] = field(default_factory=dict)
    anchors: list[ast.stmt] = field(default_factory=list)
    given: list[ast.expr] = field(default_factory=list)

    def result(self, node: ast.expr) -> Result:
        """What a constant expression gives.

        Raises:
            Refused: when it is not known to be the same in every call.
        """
        if isinstance(node, ast.Constant):
            return "value"
        if isinstance(node, _CONTAINERS):
            kinds = [self.result(one) for one in node.elts]
            return "value" if isinstance(node, ast.Tuple) and set(kinds) <= {"value"} else "mutable"
        if isinstance(node, ast.Dict):
            for one in (*node.keys, *node.values):
                self.result(one) if one is not None else self._unknown(node)
            return "mutable"
        if isinstance(node, ast.Name):
            return self._name(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        return self._operation(node)

    def _operation(self, node: ast.expr) -> Result:
        parts: list[ast.expr]
        if isinstance(node, ast.BinOp):
            parts = [node.left, node.right]
        elif isinstance(node, ast.UnaryOp):
            parts = [node.operand]
        elif isinstance(node, ast.Compare) and not any(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.JoinedStr):
            parts = [one.value for one in node.values if isinstance(one, ast.FormattedValue)]
        elif isinstance(node, ast.Subscript):
            bounds = (
                [node.slice.lower, node.slice.upper, node.slice.step] if isinstance(node.slice, ast.Slice) else None
            )
            parts = [node.value, *filter(None, bounds or [])] + ([] if bounds is not None else [node.slice])
        elif (dtype := dotted(self.source, node)) is not None and _DTYPE.fullmatch(dtype):
            self._bound_by_module(node)
            return "value"
        else:
            self._unknown(node)
        kinds = [self.result(one) for one in parts]
        if isinstance(node, (ast.Compare, ast.JoinedStr)):
            return "value" if "object" not in kinds else "object"
        return "value" if set(kinds) <= {"value"} else "mutable" if "mutable" in kinds else "object"

    def _call(self, node: ast.Call) -> Result:
        if any(isinstance(one, ast.Starred) for one in node.args) or any(one.arg is None for one in node.keywords):
            self._unknown(node)
        name = dotted(self.source, node.func)
        first = node.args[0] if node.args else None
        takes_text = name in OF_TEXT and first is not None and self._is_given(first)
        for argument in (*node.args[takes_text:], *(one.value for one in node.keywords)):
            self.result(argument)
        if takes_text and first is not None:
            self.given.append(first)
        if name is not None:
            if name not in FUNCTIONS:
                self._unknown(node)
            self._bound_by_module(node.func)
            return FUNCTIONS[name]
        for builtin, result in BUILTINS.items():
            if is_builtin(self.source, node.func, builtin):
                return "mutable" if builtin in _HANDS_ON and _holds_containers(node) else result
        if isinstance(node.func, ast.Attribute):
            written = self.source.code(node.func)
            if written in OF_TYPES and is_builtin(self.source, node.func.value, written.partition(".")[0]):
                return "mutable" if OF_TYPES[written] == "mutable" else "value"
            if node.func.attr in METHODS:
                of = self.result(node.func.value)
                return "mutable" if of == "mutable" and node.func.attr == "get" else METHODS[node.func.attr]
        self._unknown(node)
        raise AssertionError

    def _is_given(self, node: ast.expr) -> bool:
        """Whether an argument is a text that each call brings along: an attribute, a parameter, encoded or not."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "encode":
            return self._is_given(node.func.value)
        if not isinstance(node, (ast.Name, ast.Attribute)):
            return False
        try:
            Reading(self.source, self.sources).result(node)
        except Refused:
            root: ast.expr = node
            while isinstance(root, ast.Attribute):
                root = root.value
            return isinstance(root, ast.Name)
        return False

    def _name(self, node: ast.Name) -> Result:
        function = self.source.function(node)
        while function is not None:
            if node.id in local_names(function):
                return self._local(node, function)
            function = self.source.function(function)
        bindings = [one for one in self.source.tree.body if node.id in assigned(one)]
        plain = bindings[0] if len(bindings) == 1 else None
        value = plain.value if isinstance(plain, (ast.Assign, ast.AnnAssign)) else None
        if plain is None or value is None or self._is_rebound(node.id):
            raise Refused(f"`{node.id}` may hold something else in another call.")
        if isinstance(plain, ast.Assign) and not (len(plain.targets) == 1 and isinstance(plain.targets[0], ast.Name)):
            self._unknown(node)
        if self.result(value) != "value":
            raise Refused(f"`{node.id}` may be changed in place.")
        self.anchors.append(plain)
        return "value"

    def _local(self, node: ast.Name, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Result:
        """A name of the function that is set once, in front of the node and not under a condition, to a constant."""
        bindings = [
            one
            for one in walk(function)
            if (isinstance(one, ast.Name) and one.id == node.id and not isinstance(one.ctx, ast.Load))
            or (isinstance(one, ast.arg) and one.arg == node.id)
            or (isinstance(one, (ast.Global, ast.Nonlocal)) and node.id in one.names)
        ]
        statement = self.source.parents.get(bindings[0]) if len(bindings) == 1 else None
        if (
            not isinstance(statement, ast.Assign)
            or statement not in function.body
            or statement.targets != bindings
            or self.source.range(statement)[1] > self.source.range(node)[0]
        ):
            raise Refused(f"`{node.id}` may hold something else in another call.")
        if self.result(statement.value) != "value":
            raise Refused(f"`{node.id}` may be changed in place.")
        self.local[node] = operand(render(self.source, statement.value, self.local))
        return "value"

    def _is_rebound(self, name: str) -> bool:
        """Whether a function of the file, or an assignment to the module's attribute in any file, binds a name anew."""
        if any(isinstance(one, ast.Global) and name in one.names for one in walk(self.source.tree)):
            return True
        set_from_outside = re.compile(
            rf"\.{re.escape(name)}\s*[-+*/|&^%@]?=[^=]|setattr\(.*['\"]{re.escape(name)}['\"]"
        )
        return any(set_from_outside.search(text) for text in self.sources.values())

    def _bound_by_module(self, node: ast.expr) -> None:
        """Note the statement that imports what a dotted name begins with.

        Raises:
            Refused: when the import stands inside of a function, or in more than one place.
        """
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        assert isinstance(root, ast.Name)
        around = [one for one in self.source.ancestors(node) if isinstance(one, _SCOPES)]
        bindings = [one for one in self.source.tree.body if root.id in assigned(one)]
        if any(root.id in local_names(one) for one in around):
            raise Refused(f"`{root.id}` is imported inside a function; import it at the top of the file.")
        self.anchors += bindings

    def _unknown(self, node: ast.expr) -> None:
        raise Refused(f"`{render(self.source, node)}` is not known to be the same in every call.")


def _holds_containers(call: ast.Call) -> bool:
    """Whether an argument of a call holds more than one thing that can be changed in place."""
    return sum(isinstance(one, (ast.List, ast.Dict, ast.Set, ast.Call)) for one in walk(call)) > 2  # the call is one


_HANDS_ON = frozenset(("max", "min", "sum", "tuple"))
_DTYPE = re.compile(r"torch\.(b?float\d+|u?int\d+|bool|half|float|double|long|int|short|complex\d+)")
