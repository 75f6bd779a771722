"""Random small models that break graphs in many ways at once: one seed, one file with a ``graphmend_entry``.

What they are made of: tensor conditions nested in loops, effects, guards, masks, aliases, in-place updates, buffers, early
returns, exceptions, mixed dtypes and shapes, NaN and inf. Each program runs without an error on most of its calls.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

WIDTH = 4

_HEAD = """import logging
import math
import warnings

import torch
from torch import nn

log = logging.getLogger("attacked")
NOTES = []


def helper(v):
{helper}

class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear({width}, {width})
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, v):
{inner}

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
        self.weight = nn.Parameter(torch.randn({width}))
        self.register_buffer("mean", torch.zeros({width}))
        self.register_buffer("limit", torch.tensor(1.5))
        self.steps = 0
        self.last = None

    def forward(self, x, m):
{forward}

def graphmend_entry():
    calls = [
        (torch.randn({width}, requires_grad={grad}), torch.rand({width}) > 0.5),
        (torch.randn({width}) * 4, torch.zeros({width}, dtype=torch.bool)),
        (torch.randn({width}).abs(), torch.ones({width}, dtype=torch.bool)),
    ]
    return Model(), calls
"""


@dataclass
class _Scope:
    """The names that hold a float vector of `WIDTH`, a 0-d float, and whether statements may return."""

    vectors: list[str]
    scalars: list[str] = field(default_factory=list)
    masks: list[str] = field(default_factory=list)
    model: bool = False
    returns: bool = True
    count: int = 0

    def inside(self) -> _Scope:
        """A block's scope: what it binds first is not known behind it."""
        return _Scope(list(self.vectors), list(self.scalars), list(self.masks), self.model, self.returns, self.count)


class _Writer:
    """Writes statements with one source of randomness."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._fresh = 0

    def program(self) -> str:
        """The whole file."""
        inner = _Scope(["v"], model=False)
        return _HEAD.format(
            width=WIDTH,
            grad=self._random.choice(("True", "False")),
            helper=self._body(_Scope(["v"]), 1, 1, "    "),
            inner=self._body(
                inner, 2, 2, "        ", first=["v = self.linear(v)", *self._maybe(0.4, "self.seen.add_(1)")]
            ),
            forward=self._body(
                _Scope(["x"], masks=["m"], model=True), 5, 2, "        ", first=["y = x * self.weight"], more=["y"]
            ),
        )

    def _body(
        self,
        scope: _Scope,
        most: int,
        depth: int,
        indent: str,
        first: tuple[str, ...] | list[str] = (),
        more: tuple[str, ...] | list[str] = (),
    ) -> str:
        scope.vectors += more
        lines = list(first)
        for _ in range(self._random.randint(1, most)):
            lines += self._statement(scope, depth)
        lines.append(f"return {self._result(scope)}")
        return "\n".join(indent + line for line in lines) + "\n"

    def _maybe(self, chance: float, line: str) -> list[str]:
        return [line] if self._random.random() < chance else []

    def _result(self, scope: _Scope) -> str:
        r = self._random
        vector = r.choice(scope.vectors)
        return r.choice(
            (vector, vector, f"{vector} * 2", f"({vector}, {r.choice(scope.vectors)})" if scope.model else vector)
        )

    # Expressions

    def _vector(self, scope: _Scope) -> str:
        r = self._random
        one, two = r.choice(scope.vectors), r.choice(scope.vectors)
        forms = [
            f"{one} + 1", f"{one} * 0.5", f"{one} - {two}", f"{one} * {two}", f"torch.sin({one})", f"{one}.relu()", f"-{one}",
            f"{one}.clamp(-2, 2)", f"{one} / ({two}.abs() + 1)", f"torch.tanh({one}) + {two}", one, f"{one}.clone()", f"{one}[:]",
            f"{one}.detach() + {two}", f"{one}.double().float()", f"{one}.flip(0)",
        ]  # fmt: skip
        forms += [f"{one}.sqrt()", f"{one}.log()", f"{one} / {two}", f"{one}.exp()", f"{one} ** 0.5"]
        forms += [f"{one} * {name}" for name in scope.scalars]
        forms += [f"torch.where({mask}, {one}, {two})" for mask in scope.masks]
        if scope.model:
            forms += [f"helper({one})", f"self.inner({one})", f"{one} + self.mean", f"{one} * self.weight"]
        return r.choice(forms)

    def _test(self, scope: _Scope) -> str:
        r = self._random
        one = r.choice(scope.vectors)
        forms = [
            f"{one}.sum() > 0", f"{one}.max() > 1", f"({one} > 0).all()", f"({one} > 0).any()", f"torch.isnan({one}).any()",
            f"not ({one} < 2).all()", f"{one}.mean() < {one}[0]", f"{one}.sum().item() > 0", f"bool({one}[0] > 0)",
            f"{one}.sum() > 0 and {one}.min() < 0", f"{one}.sum() > 3 or {one}[1] > 0", f"-1 < {one}.mean() < 1",
            f"torch.equal({one}, {one}.abs())", f"{one}.dtype == torch.float32 and torch.isinf({one}).any()",
        ]  # fmt: skip
        forms += [f"{name} > 0.5" for name in scope.scalars]
        forms += [f"{mask}.any()" for mask in scope.masks]
        if scope.model:
            forms += ["self.steps % 2 == 0", "self.mean.sum() > 0", "self.limit > 1", "self.training"]
        return r.choice(forms)

    # Statements

    def _statement(self, scope: _Scope, depth: int) -> list[str]:
        plain: list[Callable[[_Scope], list[str]]] = [
            self._assign, self._assign, self._assign, self._inplace, self._alias, self._effect, self._number, self._masked, self._index,
        ]  # fmt: skip
        if scope.model:
            plain.append(self._state)
        deep: list[Callable[[_Scope, int], list[str]]] = [
            self._branch, self._branch, self._branch, self._loop, self._guard, self._early, self._try, self._ternary,
        ]  # fmt: skip
        if depth and self._random.random() < 0.5:
            return self._random.choice(deep)(scope, depth)
        return self._random.choice(plain)(scope)

    def _block(self, scope: _Scope, depth: int) -> list[str]:
        inside = scope.inside()
        lines: list[str] = []
        for _ in range(self._random.randint(1, 2)):
            lines += self._statement(inside, depth - 1)
        return ["    " + line for line in lines]

    def _assign(self, scope: _Scope) -> list[str]:
        value = self._vector(scope)
        if self._random.random() < 0.4:
            name = f"t{self._fresh}"
            self._fresh += 1
        else:
            name = self._random.choice(scope.vectors)
        lines = [f"{name} = {value}"]
        if name not in scope.vectors:
            scope.vectors.append(name)
        return lines

    def _inplace(self, scope: _Scope) -> list[str]:
        r = self._random
        own = f"t{self._fresh}"
        self._fresh += 1
        name = r.choice(scope.vectors)
        scope.vectors.append(own)
        change = r.choice(
            (f"{own} += {name}", f"{own}.mul_(2)", f"{own}[0] = 1.0", f"{own}.clamp_(min=0)", f"{own}[1:] -= 1")
        )
        return [f"{own} = {name} * 1", change]

    def _alias(self, scope: _Scope) -> list[str]:
        r = self._random
        own, other = f"t{self._fresh}", f"t{self._fresh + 1}"
        self._fresh += 2
        name = r.choice(scope.vectors)
        scope.vectors += [own, other]
        view = r.choice((own, f"{own}[:]", f"{own}.view({WIDTH})", f"{own}.detach()"))
        return [
            f"{own} = {name} + 0",
            f"{other} = {view}",
            *self._maybe(0.5, f"{own}.add_(1)"),
            *self._maybe(0.3, f"{other}.mul_(0.5)"),
        ]

    def _effect(self, scope: _Scope) -> list[str]:
        r = self._random
        name = r.choice(scope.vectors)
        return [r.choice((
            'print("here")', f'print("shape", tuple({name}.shape))', f'print("value", {name}.detach())', 'log.warning("careful")',
            f'log.warning("mean %s", {name}.mean().item())', 'warnings.warn("odd")', f'NOTES.append({name}.shape[0])',
            f'print(f"{{{name}.sum().item():.3f}}")',
        ))]  # fmt: skip

    def _number(self, scope: _Scope) -> list[str]:
        r = self._random
        own = f"s{self._fresh}"
        self._fresh += 1
        name = r.choice(scope.vectors)
        value = r.choice((
            f"{name}.max().item()", f"float({name}.mean())", f"{name}.sum().item() / 2", f"int({name}.abs().sum().clamp(max=9).nan_to_num())",
            f"math.sqrt(abs({name}[0].item()))", f"round({name}.mean().item(), 2)", f"{name}.mean()", f"{name}.detach().max()",
            f"sum({name}.tolist())", f"max({name}[0], {name}[1])",
        ))  # fmt: skip
        scope.scalars.append(own)
        return [f"{own} = {value}"]

    def _masked(self, scope: _Scope) -> list[str]:
        r = self._random
        name = r.choice(scope.vectors)
        mask = r.choice([f"{name} > 0", *scope.masks])
        own = f"t{self._fresh}"
        self._fresh += 1
        scope.vectors.append(own)
        if r.random() < 0.5:
            return [
                f"k{own} = {mask}",
                f"{own} = {name} * 1",
                r.choice((f"{own}[k{own}] = {own}[k{own}] * 2", f"{own}[k{own}] = 0.5", f"{own}[k{own}] += 1")),
            ]
        reduce = r.choice(("sum()", "sum()", "mean()", "numel()"))
        return [f"k{own} = {mask}", f"{own} = {name} + {name}[k{own}].{reduce}"]

    def _index(self, scope: _Scope) -> list[str]:
        r = self._random
        name = r.choice(scope.vectors)
        own = f"s{self._fresh}"
        self._fresh += 1
        scope.scalars.append(own)
        index = f"{name}.nan_to_num().argmax()"
        return [
            r.choice(
                (
                    f"{own} = {name}[{index}]",
                    f"{own} = {name}[int({index})]",
                    f"{own} = [{name}[0], {name}[1], {name}[2], {name}[3]][int({index})]",
                )
            )
        ]

    def _state(self, scope: _Scope) -> list[str]:
        r = self._random
        name = r.choice(scope.vectors)
        return [r.choice((
            "self.steps += 1", f"self.mean.mul_(0.9).add_({name}.detach() * 0.1)", f"self.mean = self.mean * 0.9 + {name}.detach() * 0.1",
            f"self.last = {name}", f"self.last = {name}.detach()", f"self.mean.copy_({name}.detach())", "self.limit.add_(0.1)",
        ))]  # fmt: skip

    def _branch(self, scope: _Scope, depth: int) -> list[str]:
        r = self._random
        lines = [f"if {self._test(scope)}:", *self._block(scope, depth)]
        if r.random() < 0.25:
            lines += [f"elif {self._test(scope)}:", *self._block(scope, depth)]
        if r.random() < 0.5:
            lines += ["else:", *self._block(scope, depth)]
        return lines

    def _loop(self, scope: _Scope, depth: int) -> list[str]:
        r = self._random
        leave = (
            [f"    if {self._test(scope)}:", "        " + r.choice(("break", "break", "continue"))]
            if r.random() < 0.6
            else []
        )
        block = self._block(scope, depth)
        order = [*leave, *block] if r.random() < 0.5 else [*block, *leave]
        return [f"for i{self._fresh} in range({r.randint(1, 3)}):", *order]

    def _guard(self, scope: _Scope, _depth: int) -> list[str]:
        r = self._random
        name = r.choice(scope.vectors)
        test = r.choice(
            (
                f"torch.isinf({name}).any()",
                f"({name} > 50).any()",
                f"not torch.equal({name}, {name} + 0) and ({name} > 9).any()",
            )
        )
        error = r.choice(("ValueError", "RuntimeError", "IndexError"))
        message = r.choice(
            ('"bad values"', f'f"bad values of {{tuple({name}.shape)}}"', f'f"bad {{{name}.max().item():.2f}}"')
        )
        return [f"if {test}:", f"    raise {error}({message})"]

    def _early(self, scope: _Scope, depth: int) -> list[str]:
        if not scope.returns:
            return self._assign(scope)
        inside = scope.inside()
        lines = ["    " + line for line in (self._assign(inside) if depth else [])]
        return [f"if {self._test(scope)}:", *lines, f"    return {self._random.choice(inside.vectors)} * 3"]

    def _try(self, scope: _Scope, depth: int) -> list[str]:
        return ["try:", *self._block(scope, depth), "except ValueError:", f"    {self._assign(scope.inside())[0]}"]

    def _ternary(self, scope: _Scope, _depth: int) -> list[str]:
        name = self._random.choice(scope.vectors)
        return [f"{name} = {self._vector(scope)} if {self._test(scope)} else {self._vector(scope)}"]


def program(seed: int) -> str:
    """The source of the program with that number."""
    return _Writer(seed).program()
