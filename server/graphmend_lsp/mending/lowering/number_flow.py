"""Where a Python number that is read from a tensor goes, and the texts that let a tensor go there in its place.

Followed are names that are bound once, arithmetic, comparisons, indices and what tensors are given; wherever only a
number would do, following stops with the reason and the line. Nothing here makes a mend.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.number_needs import why_number
from graphmend_lsp.mending.facts.result_dtype import dtype_beside, exact_number, fits_everywhere, same_kind
from graphmend_lsp.mending.facts.scalars import Read, Scalars, plain, read_of
from graphmend_lsp.mending.lowering import number_uses as uses
from graphmend_lsp.mending.lowering.number_calls import python_call
from graphmend_lsp.mending.lowering.number_dtypes import Beside
from graphmend_lsp.mending.lowering.number_rolls import rolled
from graphmend_lsp.mending.lowering.picked import Picked, picked
from graphmend_lsp.mending.syntax.formatting import operand, render
from graphmend_lsp.mending.syntax.imports import dotted
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source, local_names, parameters
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import TextEdit


@dataclass
class Flow:
    """What following a number found. `exchange` are the new texts of nodes, `tests` the conditions the number decides.

    `double` says to compute in float64 as Python does, `wide` to compute integers in int64. `inexact` is set where Python's
    own arithmetic would not be met by arithmetic in the tensor's dtype (more than one step, or a constant that the dtype
    cannot hold), `widens` where it would not be in a narrow integer dtype, `of_whole` are the nodes where integers, should
    the tensor hold any, become floats: in float64 for Python, in float32 for a tensor. `beside` are the operands of which it
    is not known that they decide about the dtype beside a tensor without dimensions, as they do beside a number. `divides`
    is set where a tensor is divided by the number, which CUDA does by its reciprocal (seen on torch 2.11).
    """

    source: Source
    kinds: Kinds
    double: bool = False
    wide: bool = False
    exchange: dict[ast.AST, str] = field(default_factory=dict)
    tests: list[ast.expr] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    indices: int = 0
    steps: int = 0
    inexact: bool = False
    widens: bool = False
    of_whole: list[ast.expr] = field(default_factory=list)
    beside: list[ast.expr] = field(default_factory=list)
    divides: bool = False
    imports: list[TextEdit] = field(default_factory=list)
    floats: bool = False

    def __post_init__(self) -> None:
        self.scalars = Scalars(self.source, self.kinds)
        self._named: set[str] = set()

    # -- numbers --------------------------------------------------------------------------------------------------

    def begin(self, read: Read) -> None:
        """Follow a read to wherever its number goes.

        Raises:
            Refused: where only a Python number would do.
        """
        self._take(read)
        self.follow(read.call)

    def _take(self, read: Read) -> None:
        self.reads.append(read)
        self.exchange[read.call] = self.scalars.text(
            read, kept=uses.is_kept(self.source, self.kinds, read.call), double=self.double, wide=self.wide
        )
        self.floats = self.floats or (read.form == "float" and not self.scalars.is_floating(read.tensor))
        if read.form == "int" and not self.scalars.is_whole(read.tensor):
            self.tell(uses.INT)
        if read.form == "sum" and not self.scalars.is_whole(read.tensor):
            self.tell(uses.SUM)

    def follow(self, node: ast.expr) -> None:
        """Follow the number that the expression `node` gives to what takes it."""
        parent = self.source.parents.get(node)
        if isinstance(parent, ast.BinOp):
            self._arithmetic(node, parent)
        elif isinstance(parent, ast.UnaryOp):
            if isinstance(parent.op, ast.Not):
                self._condition(node)
            else:
                self.widens = True
                self.follow(parent)
        elif isinstance(parent, ast.Compare):
            self._comparison(node, parent)
        elif isinstance(parent, ast.Call):
            self._call(node, parent, list(parent.args))
        elif isinstance(parent, ast.keyword):
            self._keyword(node, parent)
        elif isinstance(parent, (ast.If, ast.IfExp)) and parent.test is node:
            self.tests.append(node)
        elif isinstance(parent, ast.BoolOp):
            self._condition(node)
        elif isinstance(parent, ast.Assign) and parent.value is node:
            self._assigned(parent)
        elif isinstance(parent, ast.AugAssign) and parent.value is node:
            self._augmented(node, parent)
        elif isinstance(parent, (ast.Subscript, ast.Tuple)) and (at := picked(self.source, self.kinds, node)):
            self._indexed(node, at)
        else:
            self._refuse(node, parent)

    def _arithmetic(self, node: ast.expr, parent: ast.BinOp) -> None:
        other = parent.right if parent.left is node else parent.left
        if self.is_number(other):
            self._step(parent, node, other)
            self.follow(parent)
            return
        if self.kinds.of(other) == "python":
            if isinstance(other, (ast.List, ast.Tuple, ast.JoinedStr)) or isinstance(parent.op, ast.Mod):
                self._refuse(node, parent)
            if isinstance(other, ast.Constant) and isinstance(other.value, str):
                self._refuse(node, parent)
            self.inexact = True
            self._step(parent, node, other)
            self.follow(parent)
            return
        if isinstance(parent.op, ast.Sub) and self.kinds.is_bool(node):
            raise Refused(f"{self.line(node)}: a bool cannot be subtracted from a tensor.")
        self._right_of(type(parent.op).__name__ if parent.right is node else "")
        self._meet(node, other)
        if second := uses.second(node, parent, same_kind(self.scalars, self.reads, other)):
            text = second.format(operand(self._take_text(other)), operand(self._take_text(node)))
            self._forget(parent)
            self.exchange[parent] = text

    def _right_of(self, name: str) -> None:
        """Note that the number is on the right of an operator or a function of that name."""
        self.divides = self.divides or name in uses.DIVIDES
        if name in uses.RAISES:
            self.tell(uses.POWER)

    def _step(self, parent: ast.BinOp, node: ast.expr, other: ast.expr) -> None:
        self.steps, self.widens = self.steps + 1, True
        if isinstance(parent.op, ast.Div) and not all(self.scalars.is_floating(one.tensor) for one in self.reads):
            self.floats = True
        if isinstance(parent.op, (ast.Pow, ast.LShift, ast.RShift, ast.MatMult, ast.BitAnd, ast.BitOr, ast.BitXor)):
            raise Refused(f"{self.line(node)}: `{self.code(parent)}` is arithmetic of Python numbers only.")
        if isinstance(parent.op, (ast.Div, ast.FloorDiv, ast.Mod)):
            self._refuse_zero(parent)
        if self.steps > 1 or (isinstance(other, ast.Constant) and not exact_number(other)):
            self.inexact = True

    def _refuse_zero(self, parent: ast.BinOp) -> None:
        """Refuse a division of Python numbers whose divisor may be 0: Python raises there."""
        divisor = parent.right
        if isinstance(divisor, ast.Constant) and divisor.value:
            return
        tensor = self.tensor_of(divisor)
        if tensor is None or not self.scalars.is_positive(tensor):
            raise Refused(
                f"{self.line(parent)}: `{self.code(parent)}` raises ZeroDivisionError where the divisor is 0, and a tensor "
                "gives infinity or NaN."
            )

    def tensor_of(self, node: ast.expr) -> ast.expr | None:
        """The tensor that a number is read from, by itself or through a name that is bound to nothing else."""
        if isinstance(node, ast.Name):
            values = self.scalars.values(node)
            return self.tensor_of(values[0]) if values and len(values) == 1 else None
        if any(one.call is node for one in self.reads):
            return next(one.tensor for one in self.reads if one.call is node)
        return None

    def is_number(self, node: ast.expr) -> bool:
        """Whether an operand is a constant or another read, which is then taken as well."""
        if isinstance(node, ast.Constant):
            return isinstance(node.value, (int, float))
        if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
            return self.is_number(node.operand)
        if isinstance(node, ast.BinOp):
            return self.is_number(node.left) and self.is_number(node.right)
        read = read_of(self.source, self.kinds, node)
        if read is None:
            return False
        if read.call not in self.exchange:
            self._take(read)
        return True

    def _meet(self, node: ast.expr, other: ast.expr) -> None:
        """The number meets a tensor: Python's float takes that tensor's dtype."""
        if self.floats and not (self.steps == 0 and same_kind(self.scalars, self.reads, other)):
            self.of_whole.append(other)
        if not self.double or self.kinds.is_bool(node) or isinstance(node, ast.Compare):
            self._take_beside(node, other)
            return
        dtype = dtype_beside(self.source, self.scalars, self.reads, node, other)
        if dtype is None:
            raise Refused(
                f"{self.line(node)}: it is computed in Python's float64 and then meets `{self.code(other)}`, whose dtype it "
                "must take and which is not known."
            )
        self._convert(node, dtype)

    def _convert(self, node: ast.expr, dtype: str) -> None:
        self.exchange[node] = f"{operand(plain(self._take_text(node)))}.to({dtype})"

    def _take_beside(self, node: ast.expr, other: ast.expr) -> None:
        """Note an operand that a tensor without dimensions may widen, where a number would not; or give the number its dtype."""
        beside = Beside(self.source, self.kinds, self.scalars, self.reads, self.floats, self.wide, self.steps)
        if beside.is_decided(node, other):
            return
        if (dtype := beside.dtype(node, other)) is None:
            self.beside.append(other)
        else:
            self._convert(node, dtype)

    def _comparison(self, node: ast.expr, parent: ast.Compare) -> None:
        parts = [parent.left, *parent.comparators]
        if len(parts) != 2 or isinstance(parent.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn)):
            raise Refused(f"{self.line(node)}: `{self.code(parent)}` compares in a way that tensors cannot.")
        other = parts[1] if parts[0] is node else parts[0]
        if self.kinds.of(other) == "tensor" and not self.is_number(other):
            self._take_beside(node, other)
            return
        if self.floats:
            self.of_whole.append(other)
        if not fits_everywhere(other):
            self.widens = True
        if not (isinstance(other, ast.Constant) and exact_number(other)):
            self.inexact = (
                self.inexact
                or not isinstance(other, (ast.Name, ast.Call))
                or read_of(self.source, self.kinds, other) is None
            )
        self.follow(parent)  # a condition, or a bool that goes on

    def _condition(self, node: ast.expr) -> None:
        """The number is part of a condition: all of that is for the where rule."""
        one: ast.AST = node
        while isinstance(one, ast.expr):
            parent = self.source.parents.get(one)
            if isinstance(parent, (ast.If, ast.IfExp)) and parent.test is one:
                self.tests.append(one)
                return
            if not isinstance(parent, (ast.BoolOp, ast.UnaryOp, ast.Compare)):
                break
            one = parent
        raise Refused(f"{self.line(node)}: `{self.code(one)}` is a truth value that Python needs.")

    # -- calls ----------------------------------------------------------------------------------------------------

    def _call(self, node: ast.expr, call: ast.Call, arguments: list[ast.expr]) -> None:
        if node is call.func or isinstance(node, ast.Starred):
            self._refuse(node, call)
        if self._rolls(node, call):
            return
        if (text := python_call(self, node, call, self._take_text(node))) is not None:
            self._forget(call)
            self.exchange[call] = text
            self.follow(call)
            return
        name = dotted(self.source, call.func) or ""
        last = name.rpartition(".")[2] if name.startswith("torch.") else ""
        if isinstance(call.func, ast.Attribute) and not name:
            last = call.func.attr if self.kinds.of(call.func.value) == "tensor" else ""
            arguments = [call.func.value, *arguments]
        if last in uses.TAKES_TENSOR and arguments and arguments[0] is not node:
            self._right_of(last)
            self._meet(node, arguments[1 if last == "where" and arguments[1] is not node else 0])
            return
        if last in ("where",) and len(arguments) == 3:
            self._meet(node, arguments[2] if arguments[1] is node else arguments[1])
            return
        self._refuse(node, call)

    def _keyword(self, node: ast.expr, keyword: ast.keyword) -> None:
        call = self.source.parents.get(keyword)
        if isinstance(call, ast.Call) and self._rolls(node, call):
            return
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and keyword.arg in ("min", "max", "value", "other")
        ):
            name, arguments = self.scalars.called(call)
            alone = len(call.keywords) == 1 and len(arguments) == 1
            if (name in ("clamp", "clip") and alone) or name in uses.TAKES_TENSOR:
                self._meet(node, arguments[0])
                return
        self._refuse(node, keyword)

    def _rolls(self, node: ast.expr, call: ast.Call) -> bool:
        if (text := rolled(self, node, call, self._take_text(node))) is not None:
            self._forget(call)
            self.exchange[call] = text
        return text is not None

    # -- names ----------------------------------------------------------------------------------------------------

    def _assigned(self, statement: ast.Assign) -> None:
        for target in statement.targets:
            if isinstance(target, ast.Name):
                self._uses(target)
            elif isinstance(target, ast.Subscript) and self.kinds.of(target.value) == "tensor":
                continue
            else:
                self._refuse(statement.value, statement)

    def _augmented(self, node: ast.expr, statement: ast.AugAssign) -> None:
        target = statement.target
        base = target.value if isinstance(target, ast.Subscript) else target
        if self.kinds.of(base) != "tensor":
            raise Refused(f"{self.line(node)}: `{self.code(target)}` adds up Python numbers.")
        if not isinstance(target, ast.Subscript):
            self._right_of(type(statement.op).__name__)
            self._meet(node, target)

    def _uses(self, target: ast.Name) -> None:
        name = target.id
        function = self.source.function(target)
        if function is None:
            raise Refused(f"{self.line(target)}: `{name}` is not a local name.")
        if name in self._named:
            return
        self._named.add(name)
        if name in parameters(function) or name not in local_names(function):
            raise Refused(f"{self.line(target)}: `{name}` is not bound here only.")
        loads: list[ast.Name] = []
        for one in walk(function):
            if not (isinstance(one, ast.Name) and one.id == name):
                continue
            if isinstance(one.ctx, ast.Load):
                loads.append(one)
                if uses.scope_of(self.source, one) is not function:
                    raise Refused(f"{self.line(one)}: `{name}` is used in a function or comprehension of its own.")
            elif one is not target and not self._also_bound(one):
                raise Refused(f"{self.line(one)}: `{name}` is bound in more than one place.")
        for one in sorted(loads, key=lambda node: (node.lineno, node.col_offset)):
            self.follow(one)

    def _also_bound(self, one: ast.Name) -> bool:
        """Whether another binding of the name also is a read, which then is taken as well."""
        parent = self.source.parents.get(one)
        if not (isinstance(parent, ast.Assign) and parent.targets == [one]):
            return False
        return self.is_number(parent.value) and not isinstance(parent.value, ast.Constant)

    # -- indices --------------------------------------------------------------------------------------------------

    def _indexed(self, node: ast.expr, place: Picked) -> None:
        if self.kinds.is_bool(node) and self.reads[-1].form != "int":
            self._refuse(node, place.subscript)
        index = plain(self._take_text(node))
        read = self.reads[-1]
        if (
            read.form != "int"
            and not index.endswith((".long()", ".prod()"))
            and not self.scalars.holds_arithmetic(read.tensor)
        ):
            index = f"{operand(index)}.long()"  # a narrow integer counts as a mask, or is no index
        text = place.text(index)
        self._forget(place.subscript)
        self.exchange[place.subscript] = text
        self.indices += 1
        self.imports += [place.imported] if place.imported is not None else []
        if place.number:
            self.follow(place.subscript)

    # -- words ----------------------------------------------------------------------------------------------------

    def _take_text(self, node: ast.expr) -> str:
        if node in self.exchange:
            return self.exchange[node]
        return render(self.source, node, {key: text for key, text in self.exchange.items() if key is not node})

    def _forget(self, outer: ast.AST) -> None:
        for one in walk(outer):
            self.exchange.pop(one, None)

    def tell(self, words: str) -> None:
        """Note once what the mend changes."""
        if words not in self.changes:
            self.changes.append(words)

    def line(self, node: ast.AST) -> str:
        """Where a node stands, for messages."""
        return f"Line {getattr(node, 'lineno', 0)}"

    def code(self, node: ast.AST) -> str:
        """A node's text, for messages."""
        return render(self.source, node)

    def _refuse(self, node: ast.expr, parent: ast.AST | None) -> None:
        if isinstance(node, ast.Name) and uses.is_where_failing(self.source, node):
            self.exchange[node] = f"{node.id}.item()"
            return
        raise Refused(f"{self.line(node)}: {why_number(self.source, node, parent)}.")
