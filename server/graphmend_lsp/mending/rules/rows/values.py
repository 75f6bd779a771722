"""Values with a row for each chosen row: which expressions are such, and their text for all rows.

Arithmetic, modules and indices of the other dimensions keep the rows; anything else refuses. Statements are followed
elsewhere.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from graphmend_lsp.mending.facts.dimensions import dimensions
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.per_row import OPEN_AT_ZERO, PER_ROW, is_module, keeps_rows
from graphmend_lsp.mending.facts.scalars import plain
from graphmend_lsp.mending.rules.rows.list import Selection
from graphmend_lsp.mending.rules.rows.passed import carries, is_passed, role_of
from graphmend_lsp.mending.syntax.formatting import operand, render
from graphmend_lsp.mending.syntax.imports import dotted
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.mending.syntax.walk import walk

_NO_TENSORS = (ast.Is, ast.IsNot, ast.In, ast.NotIn)


@dataclass
class Values:
    """The values of one selection. `where` is how ``torch.where`` is spelled; `exchange` the texts of a statement's parts.

    `held` are the names that have a row for each chosen row, `at` is the statement that is read. `gathered` are the
    tensors that rows are taken from, `modules` what they go through, `carried` what gets the list too, `bare` what may
    not be finite for zeros; `put` counts where they are put back. `mask` is the name of the rows' mask, `pairs` that of
    the mask of a pair of lists ("" for none yet), `passes`: the list is passed on.
    """

    source: Source
    chosen: Selection
    where: str
    held: set[str] = field(default_factory=set)
    exchange: dict[ast.AST, str] = field(default_factory=dict)
    gathered: list[str] = field(default_factory=list)
    modules: list[str] = field(default_factory=list)
    carried: list[str] = field(default_factory=list)
    bare: list[str] = field(default_factory=list)
    pairs: str = ""
    put: int = 0

    def __post_init__(self) -> None:
        self.kinds = Kinds(self.source)
        self.at = self.chosen.statement
        self.passes = is_passed(self.source, self.chosen)
        named = self.chosen.rows and not self.passes
        self.mask = self.chosen.rows if named else self.source.fresh("chosen" if self.passes else "rows")

    def concerns(self, node: ast.AST) -> bool:
        """Whether a node reads the rows, their list or what was computed from them."""
        return self.chosen.mentions(node) or any(
            isinstance(one, ast.Name) and one.id in self.held for one in walk(node)
        )

    def rows(self, node: ast.expr) -> bool:
        """Whether an expression has a row for each chosen row; what must be written otherwise goes to `exchange`.

        Raises:
            Refused: when it depends on the chosen rows in any other way.
        """
        if not self.concerns(node):
            return False
        if isinstance(node, ast.Name) and node.id in self.held:
            return True
        if isinstance(node, ast.Subscript):
            return self._subscript(node)
        if isinstance(node, ast.BinOp):
            sides = [self.rows(node.left), self.rows(node.right)]
            if isinstance(node.op, ast.MatMult) and sides[1]:
                self._refuse(node)
            if sides[1] and isinstance(node.op, (ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)):
                self.bare.append(render(self.source, node))
            return any(sides)
        if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
            return self.rows(node.operand)
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and not isinstance(node.ops[0], _NO_TENSORS):
            return any([self.rows(node.left), self.rows(node.comparators[0])])
        if isinstance(node, ast.Attribute) and node.attr in ("dtype", "device", "ndim") and self.rows(node.value):
            return False
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.IfExp) and not self.concerns(node.test):
            return any([self.rows(node.body), self.rows(node.orelse)])
        if isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            self._refuse(node)
        self._plain_parts(node)
        return False

    def _plain_parts(self, node: ast.expr) -> None:
        """Let an expression stand of which no part but dtypes, devices and other sizes depends on the rows."""
        if not self.concerns(node):
            return
        children = [one for one in ast.iter_child_nodes(node) if isinstance(one, (ast.expr, ast.keyword))]
        for child in children:
            part = child.value if isinstance(child, ast.keyword) else child
            if isinstance(node, ast.Name) or self.rows(part):
                self._refuse(node)
        if not children:
            self._refuse(node)

    def _subscript(self, node: ast.Subscript) -> bool:
        shape = node.value
        if isinstance(shape, ast.Attribute) and shape.attr == "shape" and self.rows(shape.value):
            if isinstance(node.slice, ast.Constant) and node.slice.value != 0:
                return False
            if isinstance(node.slice, ast.UnaryOp) or (
                isinstance(node.slice, ast.Slice) and getattr(node.slice.lower, "value", 0) == 1
            ):
                return False
            self._refuse(node)
        if self.chosen.mentions(node.slice):
            return self._gathered(node)
        if not self.rows(node.value):
            self._plain_parts(node.slice)
            return False
        entries = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if not keeps_rows(entries) or any(self.concerns(one) for one in entries):
            self._refuse(node)
        return True

    def _gathered(self, node: ast.Subscript) -> bool:
        """``x[token]``, ``x[None, token]``, ``w[token, rank]``, ``w[token, rank, None]``."""
        if self.concerns(node.value):
            self._refuse(node)
        entries = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        text = operand(render(self.source, node.value))
        if self.chosen.is_index(entries[0]) and len(entries) > 1 and self._is_other(entries[1]):
            self._pair(node, text, entries[2:])
            return True
        if len(entries) == 2 and is_none(entries[0]) and self.chosen.is_index(entries[1]):
            if not self._is_reshaped(node):
                raise Refused(
                    f"{line_of(node)}: `{render(self.source, node)}` has the chosen rows behind another dimension."
                )
            entries = entries[1:]
        rest = [one for one in entries[1:] if not is_whole(one)]
        if not self.chosen.is_index(entries[0]) or any(not is_none(one) for one in rest):
            self._refuse(node)
        zero = "False" if self.kinds.is_bool(node.value) else "0"
        out = f"{self.where}({self.column(node.value)}, {plain(text)}, {zero})"
        self.exchange[node] = out + ("[:, None]" if rest else "")
        if len(rest) > 1:
            self._refuse(node)
        self.gathered.append(render(self.source, node.value))
        return True

    def _pair(self, node: ast.Subscript, text: str, rest: list[ast.expr]) -> None:
        """The numbers of a token and a rank, of which a row has the one that the mask chooses."""
        if any(not is_none(one) for one in rest) or len(rest) > 1:
            self._refuse(node)
        self.pairs = self.pairs or self.source.fresh("chosen")
        kept = ", keepdim=True" if rest else ""
        self.exchange[node] = f"{self.where}({self.pairs}, {plain(text)}, 0).sum(1{kept})"
        self.gathered.append(plain(text))

    def _is_other(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id == self.chosen.others and self.chosen.axis is not None

    def _is_reshaped(self, node: ast.Subscript) -> bool:
        """Whether ``x[None, token]`` is brought to rows at once: ``.reshape(-1, width)``."""
        parent = self.source.parents.get(node)
        call = self.source.parents.get(parent) if isinstance(parent, ast.Attribute) else None
        if not (isinstance(call, ast.Call) and isinstance(parent, ast.Attribute) and len(call.args) == 2):
            return False
        return parent.attr in ("reshape", "view") and render(self.source, call.args[0]) == "-1"

    def _call(self, node: ast.Call) -> bool:
        arguments = [*node.args, *(one.value for one in node.keywords)]
        if self.passes and any(carries(self.chosen, one) for one in arguments):
            return self._passed(node, arguments)
        if isinstance(node.func, ast.Attribute) and self.concerns(node.func.value):
            return self._method(node, node.func)
        if any(isinstance(one, ast.Starred) and self.concerns(one) for one in arguments):
            self._refuse(node)
        put = self._index_added(node)
        if put is not None:
            return False
        holding = [self.rows(one) for one in arguments]
        if not any(holding):
            return False
        name = dotted(self.source, node.func) or ""
        last = name.rpartition(".")[2] if name.startswith("torch.") else ""
        if last in ("linear", "matmul", "mm", "layer_norm", "embedding") and holding[0] and not any(holding[1:]):
            return True
        if last in PER_ROW:
            self.bare += [render(self.source, node)] if last in OPEN_AT_ZERO else []
            return True
        if is_module(self.source, node.func):
            self.modules.append(render(self.source, node.func))
            return True
        raise Refused(f"{line_of(node)}: `{render(self.source, node.func)}` may mix the rows.")

    def _passed(self, node: ast.Call, arguments: list[ast.expr]) -> bool:
        """A call that gets the list too: then it gets all rows and a list of all of them."""
        holding = [one for one in arguments if not carries(self.chosen, one) and self.rows(one)]
        if is_module(self.source, node.func) and holding:
            self.carried.append(render(self.source, node.func))
            return True
        role = role_of(self.source, node.func)
        if role == "takes out" and not holding:
            return True
        if role == "puts back" and len(holding) == 1:
            text = plain(render(self.source, holding[0], self.exchange))
            for one in walk(holding[0]):
                self.exchange.pop(one, None)
            self.exchange[holding[0]] = f"{self.where}({self.column(holding[0])}, {text}, 0)"
            self.put += 1
            return False
        raise Refused(
            f"{line_of(node)}: what `{render(self.source, node.func)}` does with the list of rows is not known."
        )

    def _index_added(self, node: ast.Call) -> str | None:
        """``out.index_add(0, token, v)``, which gives a new tensor."""
        if not (isinstance(node.func, ast.Attribute) and node.func.attr == "index_add"):
            return None
        out, value = self.put_parts(node, node.func.value)
        text = f"{self.where}({self.column(out)}, {plain(render(self.source, value, self.exchange))}, 0)"
        for one in walk(node):
            self.exchange.pop(one, None)
        self.exchange[node] = f"({render(self.source, out)} + {text})"
        return text

    def put_parts(self, call: ast.Call, out: ast.expr) -> tuple[ast.expr, ast.expr]:
        """Where rows are put back and the rows, of ``out.index_add_(0, token, v)``."""
        named = {one.arg: one.value for one in call.keywords}
        given = [*call.args, *(named.pop(one) for one in ("dim", "index", "source")[len(call.args) :] if one in named)]
        if len(given) != 3 or named or not (isinstance(given[0], ast.Constant) and given[0].value == 0):
            raise Refused(f"{line_of(call)}: `{render(self.source, call)}` has no form with all rows.")
        if not self.chosen.is_index(given[1]) or self.concerns(out) or not self.rows(given[2]):
            raise Refused(
                f"{line_of(call)}: `{render(self.source, call)}` does not put back the rows that were chosen."
            )
        if not isinstance(out, (ast.Name, ast.Attribute)):
            raise Refused(f"{line_of(call)}: `{render(self.source, out)}` is no name; give it one first.")
        self.put += 1
        return out, given[2]

    def _method(self, node: ast.Call, function: ast.Attribute) -> bool:
        if not self.rows(function.value):
            self._refuse(node)
        others = [*node.args, *(one.value for one in node.keywords)]
        name = function.attr
        if name in ("new_zeros", "new_ones", "new_full", "new_empty") and not any(self.rows(one) for one in others):
            return False
        first = render(self.source, node.args[0]) if node.args else ""
        if name == "size" and first not in ("", "0"):
            return False
        if any(self.rows(one) for one in others) and name not in PER_ROW:
            self._refuse(node)
        shaped = name in ("reshape", "view") and first == "-1" and len(node.args) > 1
        raised = name == "unsqueeze" and first in ("1", "-1")
        if not (name in PER_ROW or shaped or raised):
            raise Refused(f"{line_of(node)}: `.{name}()` may mix the rows.")
        self.bare += [render(self.source, node)] if name in OPEN_AT_ZERO else []
        return True

    def column(self, like: ast.expr) -> str:
        """The rows' mask, in a shape that goes with `like`."""
        known = dimensions(self.source, like, self.at)
        if known is not None and known >= 1:
            return self.mask + (f"[:{', None' * (known - 1)}]" if known > 1 else "")
        if not isinstance(like, (ast.Name, ast.Attribute)):
            raise Refused(
                f"{line_of(like)}: it is not known how many dimensions `{render(self.source, like)}` has; give it a name first."
            )
        return f"{self.mask}.reshape(-1, *(1,) * ({render(self.source, like)}.dim() - 1))"

    def _refuse(self, node: ast.AST) -> None:
        raise Refused(f"{line_of(node)}: `{render(self.source, node)}` depends on how many rows are chosen.")


def line_of(node: ast.AST) -> str:
    """The line of a node, as the start of a reason."""
    return f"Line {getattr(node, 'lineno', 0)}"


def is_none(node: ast.expr) -> bool:
    """Whether a node is ``None``, a new dimension in an index."""
    return isinstance(node, ast.Constant) and node.value is None


def is_whole(node: ast.expr) -> bool:
    """Whether a node is ``:``, all of a dimension in an index."""
    return isinstance(node, ast.Slice) and node.lower is None and node.upper is None and node.step is None
