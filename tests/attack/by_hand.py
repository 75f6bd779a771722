"""Programs thought out against the proof: what do the calls of a verdict never show?

Each is a program with its break marked, the calls that its entry shows, and more calls, which are those a careless mend
gets wrong. `must`: ``declined`` no mend of the rule; ``not safe`` no safe one; ``safe`` a safe one; ``sound`` either. In every
case what is safe must do the same as the original in all calls, the shown ones and the others. `limit`: it is safe and does
not; `docs/attack.md` says what a verdict does not promise.

    python -m tests.attack.by_hand        a line of JSON for each case: its name, what was offered, how that differs
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import textwrap
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from .mutants import Mutant, _marked, _Seedling, _unmarked

Must = Literal["declined", "not safe", "safe", "sound", "limit"]
V = "[(torch.arange(1.0, 5.0),), (-torch.arange(1.0, 5.0),), (torch.tensor([3.0, -2.0, 0.0, 1.0]),)]"
G = "[(torch.arange(1.0, 5.0).requires_grad_(),), (-torch.arange(1.0, 5.0).requires_grad_().detach().requires_grad_(),)]"
_HEAD = "import copy\nimport logging\nimport math\nimport random\nimport sys\n"


@dataclass(frozen=True)
class Case:
    """One program; see above. `run` binds `calls`, and `fn` where that is no function of the program."""

    name: str
    rule: str
    source: str
    must: Must = "sound"
    calls: str = V
    more: str = V
    gb_id: str = "GB0170"
    outermost: str | None = None
    fn: str = "fn"

    def program(self) -> Mutant:
        """The program with its break; its entry gives `calls`, `attack_calls` the others."""
        source = _HEAD + textwrap.dedent(self.source)
        run = f"fn = {self.fn}\ncalls = {self.calls}" if self.fn != "fn" else f"calls = {self.calls}"
        made = _unmarked(_marked(source) + "\n", _Seedling(self.rule, source, run, self.gb_id, self.outermost), run)
        assert made is not None, self.name
        text = made.text + f"\n\ndef attack_calls():\n    return {self.more}\n"
        return Mutant(text, made.rule, made.span, made.gb_id, made.chain)


def _hazard(operation: str, points: str) -> Case:
    """A side that is not taken where an operation has no finite gradient: `points` are rows at which it has none.

    NaN takes the other side here, so that no call with a NaN shows it.
    """
    more = f"[(torch.tensor(row).requires_grad_(),) for row in ({points},)]"
    source = f"""
        def fn(x):
            if ⟦x.sum() > 5⟧:
                y = x * 2
            else:
                y = {operation}
            return y
    """
    calls = "[(torch.tensor([0.4, 0.3, 0.2, 0.1]),), (torch.tensor([9.0, 8.0, 7.0, 6.0]),), (torch.tensor([0.5, 0.1, 0.7, 0.2]),)]"
    return Case(f"no gradient of {operation}", "where", source, calls=calls, more=more)


HAZARDS = tuple(
    _hazard(operation, points)
    for operation, points in (
        ("x / x.std()", "[6.0, 6.0, 6.0, 6.0]"), ("x.std() * x", "[6.0, 6.0, 6.0, 6.0]"), ("x.var().sqrt() * x", "[6.0, 6.0, 6.0, 6.0]"),
        ("x * x.norm()", "[0.0, 0.0, 0.0, 9.0], [9.0, 9.0, 9.0, 9.0]"), ("(x - 9).norm() * x", "[9.0, 9.0, 9.0, 9.0]"),
        ("x / (x - x.mean()).norm()", "[6.0, 6.0, 6.0, 6.0]"), ("x / x[0]", "[0.0, 9.0, 9.0, 9.0]"), ("x.rsqrt()", "[0.0, 9.0, 9.0, 9.0], [-1.0, 9.0, 9.0, 9.0]"),
        ("x.reciprocal()", "[0.0, 9.0, 9.0, 9.0]"), ("x ** -1", "[0.0, 9.0, 9.0, 9.0]"), ("x ** 0.5", "[0.0, 9.0, 9.0, 9.0], [-1.0, 9.0, 9.0, 9.0]"),
        ("x.pow(1.5)", "[-1.0, 9.0, 9.0, 9.0]"), ("2.0 ** (x * 1e3)", "[9.0, 9.0, 9.0, 9.0]"), ("x.exp() * (x * 100).exp()", "[90.0, 9.0, 9.0, 9.0]"),
        ("x.acos()", "[2.0, 9.0, 1.0, 9.0]"), ("x.asin() + x", "[2.0, 9.0, 1.0, 9.0]"), ("x.atanh()", "[2.0, 9.0, 1.0, 9.0]"), ("(x + 1).acosh()", "[0.0, 9.0, -4.0, 9.0]"),
        ("torch.logit(x)", "[0.0, 9.0, 1.0, 9.0]"), ("torch.erfinv(x)", "[1.0, 9.0, 2.0, 9.0]"), ("torch.atan2(x, x - 9)", "[0.0, 9.0, 9.0, 0.0]"),
        ("torch.hypot(x, x)", "[0.0, 9.0, 9.0, 9.0]"), ("x.prod() / x", "[0.0, 9.0, 9.0, 9.0]"), ("x.cumprod(0).sqrt()", "[0.0, 9.0, 9.0, -9.0]"),
        ("x.log_softmax(0) / x", "[0.0, 9.0, 9.0, 9.0]"), ("(x - 9).abs().sqrt()", "[9.0, 9.0, 9.0, 9.0]"), ("torch.linalg.vector_norm(x - 9)  * x", "[9.0, 9.0, 9.0, 9.0]"),
        ("torch.cdist(x[:, None], x[:, None] * 1).sqrt()[0]", "[9.0, 9.0, 9.0, 9.0]"), ("torch.digamma(x)", "[0.0, 9.0, -1.0, 9.0]"), ("torch.lgamma(x)", "[0.0, 9.0, -1.0, 9.0]"),
        ("torch.xlogy(x, x)", "[0.0, 9.0, 9.0, 9.0]"), ("x.log1p()", "[-1.0, 9.0, -2.0, 9.0]"), ("x.tan() / x", "[0.0, 9.0, 9.0, 9.0]"), ("x % (x - 9)", "[9.0, 9.0, 9.0, 1.0]"),
        ("torch.nn.functional.normalize(x - 9, dim=0)", "[9.0, 9.0, 9.0, 9.0]"), ("torch.nn.functional.cosine_similarity(x, x - 9, dim=0) * x", "[9.0, 9.0, 9.0, 9.0]"),
        ("torch.sinc(x) / x", "[0.0, 9.0, 9.0, 9.0]"), ("(x * float('inf')).sigmoid()", "[0.0, 9.0, 9.0, 9.0]"), ("x.masked_fill(x > 5, -float('inf')).softmax(0)", "[9.0, 9.0, 9.0, 9.0]"),
        ("x.masked_fill(x > 5, -float('inf')).logsumexp(0) * x", "[9.0, 9.0, 9.0, 9.0]"), ("torch.nn.functional.layer_norm(x, (4,), eps=0.0)", "[9.0, 9.0, 9.0, 9.0]"),
        ("torch.special.entr(x)", "[0.0, 9.0, -1.0, 9.0]"), ("x.square().sum().sqrt() * x", "[0.0, 0.0, 0.0, 0.0], [9.0, 0.0, 0.0, 0.0]"), ("x.renorm(2, 0, 1.0) if x.dim() > 1 else x / x.abs().min()", "[0.0, 9.0, 9.0, 9.0]"),
    )
)  # fmt: skip

WHERE = (
    Case("one side gives the input itself, changed later", "where", """
        def fn(x):
            y = x
            if ⟦x.sum() > 0⟧:
                y = x + 1
            y.add_(1)
            return y
    """, must="not safe"),
    Case("a view that is taken before and read behind", "where", """
        def fn(x):
            y = x * 1
            v = y[1:]
            if ⟦x.sum() > 0⟧:
                y = y * 2
            v.add_(1)
            return y, v
    """),
    Case("training only", "where", """
        class Net(torch.nn.Module):
            def forward(self, x):
                if ⟦x.sum() > 0⟧:
                    x = torch.nn.functional.dropout(x, 0.5, self.training)
                return x * 2
    """, must="not safe", fn="Net()"),
    Case("a dropout layer in a branch", "where", """
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.drop = torch.nn.Dropout(0.5)

            def forward(self, x):
                if ⟦x.sum() > 0⟧:
                    x = self.drop(x)
                return x * 2
    """, must="not safe", fn="Net()"),
    Case("a batch norm in a branch", "where", """
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.norm = torch.nn.BatchNorm1d(4)

            def forward(self, x):
                if ⟦x.sum() > 0⟧:
                    x = self.norm(x[None])[0]
                return x * 2
    """, must="not safe", fn="Net()"),
    Case("sides that agree in shape for these sizes only", "where", """
        def fn(x):
            if ⟦x.sum() > 0⟧:
                y = x[:4]
            else:
                y = x * 2
            return y
    """, must="not safe", more="[(torch.arange(-3.0, 5.0),), (torch.arange(-5.0, 3.0),)]"),
    Case("one side broadcasts for other sizes", "where", """
        def fn(x, y):
            if ⟦x.sum() > 0⟧:
                z = x + y
            else:
                z = x
            return z
    """, must="not safe", calls="[(torch.ones(4), torch.ones(4)), (-torch.ones(4), torch.ones(4))]", more="[(-torch.ones(1), torch.ones(4)), (-torch.ones(4), torch.ones(3, 4))]"),
    Case("dtypes that agree for these inputs only", "where", """
        def fn(x):
            if ⟦x.sum() > 0⟧:
                y = x * 0.5
            else:
                y = x
            return y
    """, must="not safe", more="[(torch.arange(4),), (-torch.arange(4),)]"),
    Case("a side that only an empty tensor takes", "where", """
        def fn(x):
            if ⟦(x > -100).all()⟧:
                y = x.sum() + x
            else:
                y = x * x.max()
            return y
    """, calls="[(torch.arange(1.0, 5.0),), (-torch.arange(1.0, 5.0) * 200,)]", more="[(torch.zeros(0),)]"),
    Case("an element of a tensor that may be short", "where", """
        def fn(x):
            if ⟦x.sum() > 0⟧ and x.shape[0] > 3:
                y = x * x[3]
            else:
                y = x
            return y
    """, more="[(torch.ones(2),), (-torch.ones(2),)]"),
    Case("the condition is changed by the branch", "where", """
        def fn(x):
            y = x * 1
            c = y.sum() > 0
            if ⟦c⟧:
                y.sub_(10)
                z = y + c
            else:
                z = y * 2
            return y, z
    """),
    Case("running statistics in a branch", "where", """
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.norm = torch.nn.BatchNorm1d(4, affine=False)

            def forward(self, x):
                if ⟦x.sum() > 0⟧:
                    x = self.norm(x)
                return x * 2
    """, must="not safe", fn="Net()", calls="[(torch.arange(8.0).reshape(2, 4),), (-torch.arange(8.0).reshape(2, 4),)]",
    more="[(torch.arange(8.0).reshape(2, 4),)]"),
    Case("the state is written on the third call", "where", """
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.count = 0
                self.register_buffer("kept", torch.zeros(4))

            def forward(self, x):
                self.count += 1
                if ⟦x.sum() > 0⟧:
                    self.kept = x * self.count
                return x + self.kept
    """, fn="Net()"),
    Case("a buffer that another name holds", "where", """
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("scale", torch.ones(4))
                self.original = self.scale

            def forward(self, x):
                if ⟦x.sum() > 0⟧:
                    self.scale = self.scale * 2
                else:
                    self.scale = self.original
                return x * self.scale
    """, fn="Net()"),
    Case("a parameter's gradient is none on one side", "where", """
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.ones(4))

            def forward(self, x):
                if ⟦x.sum() > 0⟧:
                    x = x * self.weight
                return x
    """, must="not safe", fn="Net()"),
    Case("nothing asks for gradients on one side", "where", """
        def fn(x):
            if ⟦x.sum() > 0⟧:
                y = x * 2
            else:
                y = x.detach() * 3
            return y, y.requires_grad
    """, must="not safe"),
    Case("NaN compares false both ways", "where", """
        def fn(x):
            if not ⟦x.max() <= 2⟧:
                x = x - 1
            return x
    """, more="[(torch.tensor([float('nan'), 1.0, 2.0, 3.0]),)]"),
    Case("a signed zero", "where", """
        def fn(x):
            if ⟦x.sum() == 0⟧:
                x = x + 0.0
            return 1 / x
    """, more="[(torch.tensor([-0.0, 0.0, -0.0, 0.0]),), (torch.tensor([-0.0, 1.0, -1.0, 0.0]),)]"),
    Case("whole numbers overflow where the side is not taken", "where", """
        def fn(x):
            if ⟦x.max() < 100⟧:
                y = x * 100000000000
            else:
                y = x - 1
            return y
    """, calls="[(torch.arange(4),), (torch.arange(4) + 200,)]", more="[(torch.tensor([2**62, -(2**62), 1, 0]),)]"),
    Case("whole numbers divided where the side is not taken", "where", """
        def fn(x, n):
            if ⟦(n != 0).all()⟧:
                y = x // n
            else:
                y = x - 1
            return y
    """, must="not safe", calls="[(torch.arange(4), torch.ones(4).long()), (torch.arange(4), torch.ones(4).long() * 2)]", more="[(torch.arange(4), torch.tensor([0, 1, 2, 3]))]"),
    Case("a closure sees the name", "where", """
        def fn(x):
            y = x
            def later():
                return y + 1
            if ⟦x.sum() > 0⟧:
                y = x * 2
            return later()
    """),
    Case("a global is written", "where", """
        def fn(x):
            global KEPT
            if ⟦x.sum() > 0⟧:
                KEPT = x * 2
            return x
    """, must="not safe"),
    Case("an attribute is deleted on one side", "where", """
        class Net(torch.nn.Module):
            def forward(self, x):
                self.kept = x
                if ⟦x.sum() > 0⟧:
                    del self.kept
                return x
    """, must="declined", fn="Net()"),
    Case("a branch in a loop of a generator", "where", """
        def turns(x):
            for i in range(3):
                yield x * i

        def fn(x):
            total = x * 0
            for one in turns(x):
                if ⟦one.sum() > 3⟧:
                    total = total + one
            return total
    """),
    Case("the caller holds what is changed in place", "where", """
        def fn(x):
            rows = [x * 1, x * 2]
            for row in rows:
                if ⟦row.sum() > 3⟧:
                    row += 1
            return rows
    """),
    Case("a half beside a number", "where", """
        def fn(x):
            if ⟦x.sum() > 0⟧:
                y = x * 70000.0
            else:
                y = x / 3
            return y
    """, more="[(torch.tensor([1.0, -2.0]).half(),), (torch.tensor([1.0, 2.0]).half(),)]"),
    Case("the test raises for an empty tensor", "where", """
        def fn(x):
            if x.numel() and ⟦x.max() > 2⟧:
                x = x * 2
            return x
    """, more="[(torch.zeros(0),)]"),
    Case("an exception of a side that is not taken", "where", """
        def fn(x, y):
            if ⟦x.sum() > 0⟧:
                z = x @ y
            else:
                z = x.sum()
            return z
    """, calls="[(torch.ones(4), torch.ones(4)), (-torch.ones(4), torch.ones(4))]", more="[(-torch.ones(4), torch.ones(3))]"),
    Case("no_grad on one side", "where", """
        def fn(x):
            if ⟦x.sum() > 0⟧:
                with torch.no_grad():
                    x = x * 2
            return x
    """, must="not safe"),
    Case("a test of a list that grows", "where", """
        SEEN = []

        def fn(x):
            SEEN.append(x.shape[0])
            if ⟦x.sum() > 0⟧ and len(SEEN) > 20:
                x = x[:1]
            return x
    """),
)  # fmt: skip

LATER = (
    Case("a text before an exception", "defer", """
        def fn(x):
            ⟦print("seen", x.shape)⟧
            y = x.sin()
            if torch.isnan(x).any():
                raise ValueError("nan")
            return y.cos() + x
    """, gb_id="GB0059", more="[(torch.tensor([1.0, float('nan'), 2.0, 3.0]),)]"),
    Case("a list that grows after it was printed", "defer", """
        def fn(x):
            seen = [1]
            ⟦print(seen)⟧
            seen.append(x.shape[0])
            return x.sin() * len(seen)
    """, gb_id="GB0059"),
    Case("a tensor that is changed after it was printed", "defer", """
        def fn(x):
            y = x.sin()
            ⟦print("y", y.detach())⟧
            y.mul_(2)
            return y + 1
    """, gb_id="GB0059"),
    Case("a counter that goes on", "defer", """
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.count = 0

            def forward(self, x):
                self.count += 1
                ⟦print("call", self.count)⟧
                self.count += 1
                return x * self.count
    """, gb_id="GB0059", fn="Net()"),
    Case("texts of two streams", "defer", """
        def fn(x):
            ⟦print("one", x.shape)⟧
            y = x.sin()
            sys.stderr.write("two")
            z = y.cos()
            print("three", file=sys.stderr)
            return z + 1
    """, gb_id="GB0059"),
    Case("an inlined function that others call", "defer", """
        def inner(x):
            ⟦print("inner", x.shape)⟧
            return x.sin()

        def other(x):
            return inner(x) + 1

        class Net(torch.nn.Module):
            def forward(self, x):
                return inner(x) * 2

        net = Net()

        def both(x):
            first = net(x)
            return first
    """, gb_id="GB0059", outermost="forward", fn="net"),
    Case("a module that is called twice", "defer", """
        class Block(torch.nn.Module):
            def forward(self, x):
                ⟦print("block", x.shape)⟧
                return x.sin()

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.block = Block()

            def forward(self, x):
                y = self.block(x)
                print("between")
                return self.block(y) * 2
    """, gb_id="GB0059", outermost="forward", fn="Net()"),
    Case("a text in a caught exception", "defer", """
        def fn(x):
            y = x.sin()
            try:
                ⟦print("try", x.shape)⟧
                if x.shape[0] > 5:
                    raise ValueError("large")
                y = y * 2
            except ValueError as error:
                print("caught", error)
            return y
    """, gb_id="GB0059", more="[(torch.ones(6),), (torch.ones(3),)]"),
    Case("a redirected stream", "defer", """
        import contextlib
        import io

        def fn(x):
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                ⟦print("hidden")⟧
            return x * len(out.getvalue())
    """, gb_id="GB0059"),
    Case("a logger whose level changes", "defer", """
        log = logging.getLogger("other")

        def fn(x):
            ⟦log.warning("one")⟧
            y = x.sin()
            log.setLevel(logging.ERROR if x.shape[0] > 5 else logging.WARNING)
            return y.cos()
    """, must="not safe", gb_id="GB0291", more="[(torch.ones(6),), (torch.ones(3),), (torch.ones(4),)]"),
    Case("a text of an object that changes", "defer", """
        class Kept:
            def __init__(self):
                self.turns = 0

            def __repr__(self):
                return f"kept {self.turns}"

        kept = Kept()

        def fn(x):
            ⟦print(kept)⟧
            kept.turns += 1
            return x.sin() + kept.turns
    """, gb_id="GB0059"),
    Case("a text with a side effect in it", "defer", """
        SEEN = []

        def fn(x):
            ⟦print(SEEN.append(1), len(SEEN))⟧
            SEEN.append(2)
            return x.sin() + len(SEEN)
    """, gb_id="GB0059"),
    Case("a text in a generator", "defer", """
        def turns(x):
            for i in range(2):
                ⟦print("turn", i)⟧
                yield x * i

        def fn(x):
            return sum(turns(x))
    """, gb_id="GB0059", outermost="fn"),
    Case("warnings that are errors", "defer", """
        import warnings

        def fn(x):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                try:
                    ⟦warnings.warn("odd")⟧
                    y = x
                except UserWarning:
                    y = x * 2
            return y + 1
    """, gb_id="GB0007"),
    Case("one message a call", "defer", """
        import warnings

        def fn(x, scale=1):
            y = x.sin()
            ⟦warnings.warn("odd " + str(scale))⟧
            return y * scale
    """, gb_id="GB0007", more="[(torch.ones(4), 2), (torch.ones(4), 3), (torch.ones(4), 2)]"),
)  # fmt: skip
_IN_THE_GRAPH = (
    "grows after",
    "counter that",
    "level changes",
    "object that changes",
    "called twice",
    "side effect",
    "caught exception",
)
SAID = tuple(
    replace(one, name=f"{one.name}, in the graph", rule="message", must="sound")
    for one in LATER
    if any(words in one.name for words in _IN_THE_GRAPH)
)
CHECKS = (
    Case("a buffer is written before the check fails", "guard", """
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("seen", torch.zeros(()))

            def forward(self, x):
                if ⟦(x > 50).any()⟧:
                    raise ValueError("large")
                self.seen.add_(1)
                return x * self.seen
    """, fn="Net()", more="[(torch.ones(4) * 60,), (torch.ones(4),)]"),
    Case("what follows raises another exception", "guard", """
        def fn(x, i):
            if ⟦(i > 3).any()⟧:
                raise IndexError("i")
            return x[i] * 2
    """, calls="[(torch.arange(1.0, 5.0), torch.tensor([0, 1])), (torch.arange(1.0, 5.0), torch.tensor([2, 3]))]",
    more="[(torch.arange(1.0, 5.0), torch.tensor([0, 7])), (torch.arange(1.0, 5.0), torch.tensor([0, 1]))]"),
    Case("the message is of what changes", "guard", """
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.count = 0

            def forward(self, x):
                if ⟦(x > 50).any()⟧:
                    raise ValueError(f"call {self.count}")
                y = x * 2
                self.count += 1
                return y
    """, fn="Net()", more="[(torch.ones(4) * 60,), (torch.ones(4),), (torch.ones(4) * 60,)]"),
    Case("a caller catches it", "guard", """
        def check(x):
            if ⟦(x > 50).any()⟧:
                raise ValueError("large")
            return x

        def fn(x):
            try:
                y = check(x) + 1
            except ValueError:
                y = x * 0
            return y
    """, outermost="fn", must="not safe", more="[(torch.ones(4) * 60,)]"),
    Case("an early return behind it", "guard", """
        def fn(x):
            if ⟦(x > 50).any()⟧:
                raise ValueError("large")
            if x.shape[0] > 5:
                return x * 3
            y = x.sin()
            return y
    """, more="[(torch.ones(6) * 60,), (torch.ones(4) * 60,), (torch.ones(6),)]"),
    Case("two checks, the second first", "guard", """
        def fn(x):
            y = x * 2
            if ⟦(y > 50).any()⟧:
                raise ValueError("large")
            if torch.isinf(y).any():
                raise RuntimeError("infinite")
            return y + 1
    """, more="[(torch.ones(4) * 60,), (torch.full((4,), float('inf')),)]"),
    Case("a text before the check", "guard", """
        def fn(x):
            y = x * 2
            if ⟦(y > 50).any()⟧:
                raise ValueError("large")
            print("passed")
            return y + 1
    """, more="[(torch.ones(4) * 60,), (torch.ones(4),)]"),
    Case("the argument is changed after the check", "guard", """
        def fn(x):
            if ⟦(x > 50).any()⟧:
                raise ValueError("large")
            x.mul_(2)
            return x + 1
    """, more="[(torch.ones(4) * 60,), (torch.ones(4),)]", calls="[(torch.ones(4),), (torch.ones(4) * 60,)]"),
    Case("a loop that would not end", "guard", """
        def fn(x, n):
            if ⟦(n < 0).any()⟧:
                raise ValueError("negative")
            turns = 0
            while turns != int(n):
                turns += 1
                if turns > 20:
                    raise KeyError("turns")
            return x * turns
    """, calls="[(torch.ones(4), torch.tensor(2)), (torch.ones(4), torch.tensor(3))]", more="[(torch.ones(4), torch.tensor(-2)), (torch.ones(4), torch.tensor(3))]"),
)  # fmt: skip
BEHIND = (
    Case("a private name", "isolate", """
        import json

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.__gain = 2.0
                self.shift = 1.0

            def forward(self, x, text="{}"):
                y = x.sin()
                for key in range(2):
                    try:
                        scale = json.loads(⟦text⟧)["scale"] if x.shape[0] < 5 else self.__gain
                    except KeyError:
                        scale = 1.0
                    y = y * scale
                return y
    """, gb_id="GB0007", fn="Net()", more="[(torch.ones(6),)]"),
    Case("the method of the parent", "isolate", """
        import json

        class Base(torch.nn.Module):
            def scale(self):
                return 3.0

        class Net(Base):
            def forward(self, x):
                y = x.sin()
                for key in range(2):
                    json.loads(⟦"{}"⟧)
                    if x.shape[0] > 5:
                        y = y * super().scale()
                return y + 1
    """, gb_id="GB0007", fn="Net()", more="[(torch.ones(6),)]"),
    Case("a name that only one branch binds", "isolate", """
        import json

        def fn(x):
            y = x.sin()
            for key in range(2):
                json.loads(⟦"{}"⟧)
                if x.shape[0] > 5:
                    late = y * 2
            if x.shape[0] > 5:
                y = y + late
            return y
    """, gb_id="GB0007", more="[(torch.ones(6),)]"),
    Case("a local name that is asked for", "isolate", """
        import json

        def fn(x):
            y = x.sin()
            for key in range(2):
                json.loads(⟦"{}"⟧)
                y = y * len(locals())
            return y
    """, gb_id="GB0007"),
    Case("a closure that is called later", "isolate", """
        import json

        def fn(x):
            scale = 1.0
            def times(v):
                return v * scale
            y = x.sin()
            for key in range(2):
                json.loads(⟦"{}"⟧)
                scale = scale + 1
            return times(y)
    """, gb_id="GB0007"),
    Case("a name that is deleted", "isolate", """
        import json

        def fn(x):
            y = x.sin()
            z = y * 2
            for key in range(2):
                json.loads(⟦"{}"⟧)
                if x.shape[0] > 5 and key:
                    del z
            return y if x.shape[0] > 5 else z
    """, gb_id="GB0007", more="[(torch.ones(6),)]"),
    Case("gradients are off around it", "isolate", """
        import json

        def fn(x):
            with torch.no_grad():
                for key in range(2):
                    json.loads(⟦"{}"⟧)
                    x = x * 2
            return x + 1
    """, gb_id="GB0007"),
    Case("a condition on data in a try", "isolate", """
        def fn(x):
            try:
                if ⟦x.sum() > 0⟧:
                    raise KeyError("positive")
                y = x * 2
            except KeyError:
                y = x * 3
            return y
    """),
    Case("a store before what is caught", "isolate", """
        import json

        def fn(x, text="{}"):
            y = x.sin()
            try:
                y = y.tan().tanh().abs() + 1
                scale = json.loads(⟦text⟧)["scale"] * 2
            except KeyError:
                scale = 1.0
            return y * scale
    """, "safe", gb_id="GB0007", more="[(torch.ones(6), '{\"scale\": 2}'), (torch.ones(6), '[]')]"),
    Case("what an iteration leaves for the next", "isolate", """
        def fn(x):
            last = torch.zeros_like(x)
            for key in range(3):
                y = x.tan().tanh().abs() + last * key
                names = ⟦y.round().tolist()⟧
                x, last = x + len(names), y
            return x * last, y
    """, "safe", gb_id="GB0109", more="[(torch.ones(6),), (torch.zeros(0),)]"),
    Case("a context that holds an exception back", "isolate", """
        import contextlib

        @contextlib.contextmanager
        def kept():
            try:
                yield
            except IndexError:
                pass

        def fn(x):
            y = x.sin()
            scale = 1.0
            with kept():
                y = y.tan().tanh().abs() + 1
                scale = ⟦y.round().tolist()⟧[3] * 2
                y = y * 2
            return y * scale
    """, "safe", gb_id="GB0109", more="[(torch.ones(2),), (torch.ones(6),)]"),
    Case("a return out of a loop", "isolate", """
        def fn(x):
            y = x.sin() + 1
            for key in range(3):
                if ⟦x.round().tolist()⟧[0] > key:
                    return y * key
                x = x + 1
            return x * y
    """, "safe", gb_id="GB0109", more="[(torch.zeros(2),), (torch.full((2,), 9.0),), (-torch.ones(2) * 9,)]"),
    Case("a name that a closure changes", "isolate", """
        def fn(x):
            turns = 0
            def more():
                nonlocal turns
                turns += 1
            y = x.sin()
            for key in range(3):
                more()
                y = y * len(⟦x.round().tolist()⟧) + turns
            return y
    """, "not safe", gb_id="GB0109", more="[(torch.ones(6),)]"),
    Case("a loop that may not turn", "isolate", """
        def fn(x):
            y = x.sin()
            for row in x:
                names = ⟦row.round().tolist()⟧
                last = row * 2
            return y if x.shape[0] < 2 else y + last
    """, "declined", gb_id="GB0109", more="[(torch.zeros(0),), (torch.ones(6),)]"),
    Case("gradients through a boundary", "isolate", """
        def fn(x):
            y = x.sin()
            for key in range(3):
                y = y.tan() * x + key
                names = ⟦y.detach().round().tolist()⟧
                y = y.tanh() * len(names)
            return y.cos()
    """, "safe", gb_id="GB0109", calls=G, more="[(torch.full((6,), 0.5).requires_grad_(),)]"),
)  # fmt: skip
FOUND = (
    Case("an operator that keeps an input for the backward pass", "opaque", """
        def fn(x):
            y = x.clone()
            y[0] = ⟦x.sum().item()⟧
            return y + 1
    """, "safe", calls="[(torch.ones(2, 4),), (torch.ones(2, 4) * 2,)]", more="[(torch.ones(2, 4),)]", gb_id="GB0124"),
    Case("an assertion on a captured number", "capture", """
        def fn(x):
            assert ⟦x.sum().item()⟧ != 0
            return x.log()
    """, "not safe", calls="[(torch.ones(4),), (torch.ones(4) * 2,)]", gb_id="GB0124", outermost="fn"),
    Case("an input that a global keeps", "where", """
        def fn(x):
            global KEPT
            if ⟦x.argmin() > 1⟧:
                x = x * 2
            KEPT = x
    """, "not safe", calls="[(torch.tensor([3.0, 1, 2]),), (torch.tensor([3.0, 2, 1]),)]"),
    Case("an index that is uint8 or int8", "index", """
        def fn(x, i):
            i = i + 0
            return x.sin()[⟦i.item()⟧] * 2
    """, "safe", calls="[(torch.arange(1.0, 5.0), torch.tensor(2)), (torch.arange(1.0, 5.0), torch.tensor(-1))]",
    more="[(torch.arange(1.0, 5.0), torch.tensor(2, dtype=torch.uint8)), (torch.arange(1.0, 5.0), torch.tensor(-1, dtype=torch.int8))]",
    gb_id="GB0124"),
    Case("an input that takes gradients where the other side leaves it alone", "where", """
        def fn(x):
            y = x
            if ⟦x.sum() > 0⟧:
                y.add_(1)
            return x + y
    """, "not safe", more="[(torch.ones(4),), (-torch.ones(4),)]"),
    Case("a second condition that needs elements", "where", """
        def fn(x):
            if ⟦(x.sum() > 0) and (x.max() < 9)⟧:
                y = x + 1
            else:
                y = x - 1
            return y
    """, "not safe", more="[(torch.zeros(0),), (torch.ones(4),)]"),
    Case("a side that needs elements", "where", """
        def fn(x):
            y = x * 2
            if ⟦x.sum() > 0⟧:
                y = y / x.max()
            return y
    """, "not safe", more="[(torch.zeros(0),), (torch.ones(4),)]"),
    Case("a message whose second condition needs elements", "defer", """
        def fn(x):
            result = x.sin()
            if ⟦(x.sum() < 0) and (x.max() > 0.5)⟧:
                print("positive")
            return result
    """, more="[(torch.zeros(0),), (torch.ones(4),)]"),
    Case("a check whose second condition needs elements", "guard", """
        def fn(x):
            if ⟦(x.sum() < 0) and (x.max() > 50)⟧:
                raise ValueError("large")
            return x + 1
    """, more="[(torch.zeros(0),), (torch.ones(4),)]"),
    Case("one side is detached", "where", """
        def fn(x):
            y = x * 2
            if ⟦x.sum() > 0⟧:
                y = y.detach()
            return y
    """, "not safe"),
    Case("a sum of listed numbers", "item", """
        def fn(x):
            return x + sum(⟦x.tolist()⟧)
    """, gb_id="GB0109", must="not safe", more="[(torch.tensor([0.1, 0.7, 1e8, -1e8]),)]"),
    Case("a count that is NaN", "loop", """
        def fn(x):
            n = x.abs().max().clamp(max=4)
            for i in range(1, ⟦int(n)⟧):
                x = x + i
            return x
    """, gb_id="GB0124", must="not safe", more="[(torch.tensor([1.0, float('nan')]),)]"),
    Case("a private name for other sizes", "isolate", """
        import json

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.__gain = 2.0

            def forward(self, x):
                y = x.sin()
                for key in range(2):
                    json.loads(⟦"{}"⟧)
                    y = y * (1.0 if x.shape[0] < 9 else self.__gain)
                return y
    """, gb_id="GB0007", must="declined", fn="Net()", more="[(torch.ones(10),)]"),
    Case("a store that no element takes", "where", """
        def fn(x):
            y = x * 2
            if ⟦x.sum() > 0⟧:
                y[0] = 5.0
            return y
    """, "not safe", more="[(torch.zeros(0),), (torch.ones(4),)]"),
    Case("a sum in place that keeps its dtype", "loop", """
        def fn(x):
            total = torch.zeros(4)
            for i in range(4):
                total += x * i
                if ⟦total.sum() > 20⟧:
                    break
            return total
    """, "safe", gb_id="GB7000", more="[(torch.ones(4).double(),), (torch.ones(4).half(),)]"),
    Case("a buffer that gets a history", "where", """
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("mean", torch.zeros(4))

            def forward(self, x):
                if ⟦x.sum() > 0⟧:
                    self.mean = self.mean * 0.5 + x * 0.5
                return x - self.mean
    """, "not safe", fn="Net()", more="[(-torch.ones(4).requires_grad_(),)]"),
    Case("a buffer that gets a history, in an expression", "where", """
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("mean", torch.zeros(4))

            def forward(self, x):
                self.mean = self.mean * 0.5 + x * 0.5 if ⟦x.sum() > 0⟧ else self.mean
                return x - self.mean
    """, "not safe", fn="Net()", more="[(-torch.ones(4).requires_grad_(),)]"),
    Case("a buffer that gets a history, in a loop", "loop", """
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("mean", torch.zeros(4))

            def forward(self, x):
                for i in range(3):
                    if ⟦x.sum() < i⟧:
                        break
                    self.mean = self.mean * 0.5 + x * 0.5
                return x - self.mean
    """, fn="Net()", gb_id="GB7000", more="[(-torch.ones(4).requires_grad_(),)]"),
    Case("two numbers subtracted in half precision", "item", """
        def fn(x, y):
            return x * (x.max().item() - ⟦y.max().item()⟧)
    """, "not safe", gb_id="GB0124", calls="[(torch.linspace(-3.3, 7.1, 97), torch.full((97,), 0.1))]", more="[(torch.ones(4), torch.ones(4))]"),
    Case("a product that the entry's values do not round in half precision", "item", """
        def fn(x, text="1.5"):
            y = x.sin()
            scale = float(text) * ⟦y.sum().item()⟧
            return y * scale
    """, "not safe", gb_id="GB0124", calls="[(torch.arange(1.0, 5.0),), (-torch.arange(1.0, 5.0),)]", more="[(torch.ones(4),)]"),
    Case("sides that autocast gives two dtypes", "where", """
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(4, 4)

            def forward(self, x):
                h = self.layer(x)
                if ⟦x.abs().max() > 1⟧:
                    h = h.float() * 0.5
                return h * 3
    """, "not safe", fn="Net()"),
    Case("a side that needs three elements", "where", """
        def fn(x):
            y = x * 2
            if ⟦x.sum() > 5⟧:
                y = y - y.topk(3).values.mean()
            return y
    """, "not safe", more="[(torch.zeros(2),), (torch.ones(4),)]"),
    Case("a side that takes one layout only", "where", """
        def fn(x):
            y = x * 2
            if ⟦x.sum() > 5⟧:
                y = y - x.view(-1).cumsum(0)[-1:]
            return y
    """, "not safe", calls="[(torch.arange(6.0).reshape(2, 3),), (-torch.arange(6.0).reshape(2, 3),)]", more="[(-torch.arange(6.0).reshape(2, 3).t(),)]"),
    Case("a counter that an earlier result needs", "where", """
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("bad", torch.ones(()))

            def forward(self, x):
                if ⟦torch.isnan(x).any()⟧:
                    self.bad += 1
                return x / self.bad
    """, "not safe", fn="Net()", more="[(torch.ones(4).requires_grad_(),)]"),
    Case("a check that no rows fail, in front of what takes no such input", "guard", """
        def fn(x):
            s = torch.tensor(x.shape)
            if ⟦s.prod() != 2 * s[1]⟧:
                raise ValueError("sizes")
            return x + x[0], s
    """, "safe", calls="[(torch.ones(2, 3),), (torch.zeros(2, 5),)]", more="[(torch.ones(0, 3),)]"),
    Case("a check of values in front of a layer that takes one size", "guard", """
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(4, 4)

            def forward(self, x):
                if ⟦torch.isnan(x).any()⟧:
                    raise ValueError("NaN")
                return self.layer(x) * 2
    """, "safe", fn="Net()", calls="[(torch.ones(3, 4),)]", more="[(torch.full((3, 4), float('nan')),), (torch.ones(3, 4),)]"),
    Case("a check before running statistics", "guard", """
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.norm = torch.nn.BatchNorm1d(4)

            def forward(self, x, name="x"):
                if ⟦torch.isnan(x).any()⟧:
                    raise ValueError(f"{name} is NaN: {x}")
                return self.norm(x) * 2
    """, "not safe", fn="Net()", calls="[(torch.ones(3, 4),)]", more="[(torch.full((3, 4), float('nan')),), (torch.ones(3, 4),)]"),
)  # fmt: skip
CASES = (*HAZARDS, *WHERE, *LATER, *SAID, *CHECKS, *BEHIND, *FOUND)


def outcome(case: Case, folder: str) -> dict[str, Any]:
    """The verdict on each offer, as far as it is made uncompiled, and how the safe ones differ from the original."""
    from graphmend_lsp.engine.files import Sources
    from graphmend_lsp.engine.programs import combine
    from graphmend_lsp.mending import propose
    from graphmend_lsp.model import Entry

    from . import differ, inside

    made = case.program()
    path = os.path.join(folder, f"case{CASES.index(case)}.py")
    Path(path).write_text(made.text)
    offered = propose(made.site(path), {path: made.text})
    programs = [(mend,) for mend in offered.mends]
    judged = inside.uncompiled_verdicts(Entry(path, "graphmend_entry"), made.text, "eval", programs) if programs else []
    found: list[str] = []
    for mend, verdict in zip(offered.mends, judged or (), strict=False):
        if verdict.safety == "safe":
            mended = combine((mend,), Sources({path: made.text}))[1][path]
            found += differ.differences(path, path, [], 0, (made.text, mended))
    verdicts = [(mend.rule, verdict.safety) for mend, verdict in zip(offered.mends, judged or (), strict=False)]
    return {"name": case.name, "runs": judged is not None, "verdicts": verdicts, "differences": found}


if __name__ == "__main__":
    from . import inside

    inside.prepare()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory() as place:
        for one in CASES:
            if len(sys.argv) < 2 or any(word in one.name for word in sys.argv[1:]):
                print(json.dumps(outcome(one, place)), file=answers, flush=True)
