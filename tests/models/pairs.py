"""Small programs with one kind of break each, and what must come of them.

`best` is the safety that the best mend must have (``safe``, ``unsafe``), or ``declined``: no mend that is safe or unsafe may be
offered, with a reason. `graphs` is the number of graphs left. Programs are bodies of ``fn(x)``; `calls` names the inputs below.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Pair:
    """One program. `never` is text that no offered safe mend may write (the wrong rewrite that looks right)."""

    name: str
    body: str
    best: Literal["safe", "unsafe", "declined"]
    graphs: int = 1
    calls: str = "X"
    never: str = ""
    setup: str = ""


CALLS = {
    "X": "[(torch.arange(1., 5.),), (-torch.arange(1., 5.),), (torch.tensor([3., -2., 0., 1.]),)]",
    "XN": "[(torch.arange(1., 5.),), (torch.tensor([1., float('nan'), 2., 0.]),)]",
    "XI": "[(torch.arange(1., 5.),), (torch.tensor([1., float('inf'), 2., 0.]),), (torch.tensor([1., float('nan'), 2., 0.]),)]",
    "INT": "[(torch.arange(1, 5),), (-torch.arange(1, 5),)]",
    "POS": "[(torch.arange(1., 5.),), (torch.arange(2., 6.),)]",
}

TWO_MODULES = """
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.big, self.small = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        if x.sum() > 0:
            y = self.big(x)
        else:
            y = self.small(x)
        return y * 2


net = Net()
"""

PAIRS = (
    # --- where: predicated control flow
    Pair("if_both", "if x.sum() > 0:\n    y = x + 1\nelse:\n    y = x - 1\nreturn y * 2", "safe"),
    Pair("if_one", "y = x\nif x.sum() > 0:\n    y = x + 1\nreturn y * 2", "safe"),
    # a gradient that was none becomes zeros, or NaN where the step is lost anyway
    Pair("two_modules", "return net(x)", "unsafe", setup=TWO_MODULES),
    Pair("early_return", "if x.sum() > 0:\n    return x + 1\nreturn x - 1", "safe"),
    Pair("elif", "if x.sum() > 100:\n    y = x + 1\nelif x.sum() > 5:\n    y = x + 2\nelse:\n    y = x + 3\nreturn y", "safe"),
    Pair("nested", "if x.sum() > 0:\n    if x.sum() > 10:\n        y = x + 1\n    else:\n        y = x + 2\nelse:\n    y = x - 1\nreturn y", "safe"),
    Pair("and", "if x.sum() > 0 and x.max() < 10:\n    y = x + 1\nelse:\n    y = x - 1\nreturn y", "unsafe"),
    Pair("or", "if x.sum() > 0 or x.max() < -10:\n    y = x + 1\nelse:\n    y = x - 1\nreturn y", "unsafe"),
    Pair("not", "if not (x > 0).all():\n    y = x + 1\nelse:\n    y = x - 1\nreturn y", "safe"),
    Pair("item_in_condition", "if x.sum().item() > 0:\n    y = x + 1\nelse:\n    y = x - 1\nreturn y", "safe"),
    Pair("static_conjunct", "if x.dtype == torch.float32 and x.sum() > 0:\n    x = x.clamp(-1, 1)\nreturn x * 2", "safe"),
    Pair("hf_clamp", "x = x / 2\nif torch.isinf(x).any() or torch.isnan(x).any():\n    m = torch.finfo(x.dtype).max\n    x = torch.clamp(x, min=-m, max=m)\nreturn x + 1", "safe", calls="XI"),
    Pair("scalar_branches", "if x.sum() > 0:\n    s = 2.0\nelse:\n    s = 0.5\nreturn x * s", "unsafe"),
    Pair("nan_gradient", "if x.min() > 0:\n    y = torch.sqrt(x)\nelse:\n    y = x * 2\nreturn y", "safe", never="torch.where(x.min() > 0, torch.sqrt(x), x * 2)"),
    Pair("different_shapes", "if x.sum() > 0:\n    y = x.sum()\nelse:\n    y = x\nreturn y * 1", "declined"),
    Pair("different_dtypes", "if x.sum() > 0:\n    y = x.long()\nelse:\n    y = x\nreturn y", "declined"),
    Pair("none_branch", "if x.sum() > 0:\n    y = None\nelse:\n    y = x\nreturn x if y is None else y + 1", "declined"),
    Pair("list_in_branch", "seen = []\nif x.sum() > 0:\n    seen.append(1)\nreturn x + len(seen)", "declined"),
    # --- defer: effects
    Pair("print_tensor", 'y = x.sin()\nprint("y", y)\nreturn y + 1', "safe"),
    Pair("print_then_rebind", 'y = x.sin()\nprint("y", y)\ny = y + 1\nreturn y * 2', "safe"),
    Pair("print_loop", 'for i in range(3):\n    x = x + i\n    print("i", i)\nreturn x * 2', "safe"),
    Pair("print_try", 'z = x.cos()\ntry:\n    y = z.sin()\n    print("t")\n    w = y + 1\nexcept RuntimeError:\n    w = x\nreturn w * 2', "safe"),
    Pair("print_at_end", 'y = x.sin() + 1\nprint("y", y)\nreturn y', "declined"),
    Pair("logger", 'y = x.sin()\nlog.info("y %s", y)\nreturn y + 1', "safe", setup="import logging\nlog = logging.getLogger('pairs')\nlog.setLevel(logging.INFO)"),
    # --- guard: validation
    Pair("if_raise", 'if torch.isnan(x).any():\n    raise ValueError("nan found")\nreturn x + 1', "safe", calls="POS"),
    Pair("assert_fstring", 'assert (x > 0).all(), f"must be positive {x.shape}"\nreturn x + 1', "safe", calls="POS"),
    Pair("assert_allclose", 'assert torch.allclose(x, x.abs()), "neg"\nreturn x + 1', "safe", calls="POS"),
    # --- item: numbers that stay tensors
    Pair("item_factor", "return x * x.sum().item()", "safe", never="x.sum() "),
    Pair("float_factor_of_integers", "return x * float(x.sum())", "safe", calls="INT"),
    Pair("int_factor", "return x * int(x.sum())", "unsafe"),
    Pair("rounded", "return x * round(x.sum().item(), 2)", "unsafe"),
    Pair("sum_of_list", "return x + sum(x.tolist())", "unsafe"),
    Pair("steps", "s = x.sum().item()\nreturn x * (s * 2 + 0.3)", "unsafe"),
    Pair("flag", "f = (x > 2).any().item()\nif f:\n    x = x * 2\nreturn x + 1", "safe"),
    Pair("divided_by_number", "return x * (1 / x.sum().item())", "declined"),
    Pair("number_returned", "return x + 1, x.sum().item()", "declined"),
    Pair("slice_bound", "n = int(x[0].abs())\nreturn x[:n] + 1", "declined"),
    # --- index
    Pair("largest", "return x[x.argmax()] + 1", "safe"),
    Pair("element_set", "y = x.clone()\ny[int(x.argmax())] = 0\nreturn y + 1", "safe"),
    Pair("view_changed", "y = x.clone().reshape(2, 2)\nr = y[y[0].argmax()]\nr += 1\nreturn y", "declined"),
    # --- mask
    Pair("masked_sum", "return x[x > 2].sum() + 1", "unsafe"),
    Pair("masked_increment", "y = x.clone()\ny[y > 2] += 1\nreturn y + 1", "safe"),
    Pair("masked_log", "m = x > 0\nreturn x[m].log().sum() * x", "unsafe", never="torch.where(m, x.log(), 0)"),
    Pair("any_found", "i = (x > 2).nonzero()\nif len(i) > 0:\n    x = x + 1\nreturn x * 2", "safe"),
    Pair("masked_elements", "return x[x > 2] * 2", "declined"),
    Pair("masked_largest", "return x + x[x > -99].max()", "declined"),
    # --- loop: loops that data ends
    Pair("loop_break", "for i in range(4):\n    x = x * 2\n    if x.sum() > 20:\n        break\nreturn x", "safe"),
    Pair("loop_return", "for i in range(4):\n    x = x * 2\n    if x.sum() > 20:\n        return x\nreturn x - 1", "safe"),
    Pair("loop_sqrt", "for i in range(3):\n    if x.min() < 0:\n        break\n    x = x.sqrt() - 0.5\nreturn x * 2", "safe"),
    Pair("loop_count", "n = int(x.abs().max())\nfor i in range(min(n, 4)):\n    x = x + i\nreturn x", "unsafe"),
    Pair("loop_while", "n = 0\nwhile x.sum() > 10 and n < 8:\n    x = x / 2\n    n += 1\nreturn x", "unsafe"),
    # --- flow, copy, known, hoist: what Python decides or knows
    Pair("any_of_elements", "ok = any(v > 3 for v in x)\nreturn x * ok", "safe"),  # behind a boundary; without a break unsafe
    Pair("sorted_two", "return sorted([x[0], x[1]])[0] + x", "safe", calls="XN"),
    Pair("max_by_key", "return max(x, x * 2, key=lambda t: t.sum()) + 1", "safe"),
    Pair("deepcopy", "y = copy.deepcopy(x.sin().detach())\ny += 1\nreturn x * y", "safe", setup="import copy"),
    Pair("size_in_a_tensor", "s = torch.tensor(x.shape)\nn = s[0].item()\nreturn x.sin() * n", "safe"),
    Pair("seed_in_the_middle", "y = x.sin()\ntorch.manual_seed(0)\nreturn y + torch.rand(4)", "safe"),
    Pair("random_in_the_middle", "y = x.sin()\nif random.random() < 2:\n    y = y + 1\nreturn y * 2", "safe", setup="import random"),
    Pair("clock", "t = time.time()\ny = x.sin()\nT['d'] = time.time() - t\nreturn y + 1", "declined", setup="import time\nT = {}"),
    # --- isolate: what nothing mends
    Pair("lock", "y = x.sin()\nwith lock:\n    y = y + 1\nreturn y * 2", "safe", graphs=2, setup="import threading\nlock = threading.Lock()"),
    Pair("only_data_ends_it", "while x.sum() < 100:\n    x = x * 2\nreturn x", "declined", calls="POS"),
)  # fmt: skip
