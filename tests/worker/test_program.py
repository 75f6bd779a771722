"""Loading a program and running its entry, over the real worker: names, packages, unsaved text, shapes of an entry."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.worker.worker_pipes import Worker

TAIL = "def graphmend_entry(): return f, (torch.ones(4),)\n"


# what an entry may return, and how many calls that is
SHAPES = {
    "tuple": ("f, (torch.ones(4),)", 1),
    "list pair": ("[f, (torch.ones(4),)]", 1),
    "tensor": ("f, torch.ones(4)", 1),
    "dict": ("f, {'x': torch.ones(4)}", 1),
    "calls": ("f, [(torch.ones(4),), {'x': torch.ones(5)}, torch.ones(6)]", 3),
    "no arguments": ("(lambda: torch.ones(3) + 1), ()", 1),
    "module": ("torch.nn.Linear(4, 2), torch.ones(4)", 1),
    "method": ("torch.nn.Linear(4, 2).forward, torch.ones(4)", 1),
    "partial": ("functools.partial(f, x=torch.ones(4)), ()", 1),
    "compiled": ("torch.compile(f, fullgraph=True), torch.ones(4)", 1),
    "compiled module": ("torch.compile(torch.nn.Linear(4, 2), mode='max-autotune'), torch.ones(4)", 1),
}


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_of_an_entry_runs(worker: Worker, tmp_path: Path, name: str) -> None:
    returned, calls = SHAPES[name]
    text = f"import functools, torch\ndef f(x):\n    return x + 1\ndef graphmend_entry(): return {returned}\n"
    result = worker.analyse(tmp_path / "model.py", text=text)
    assert result["failure"] is None
    assert result["calls"] == calls
    assert len(result["graphs"]) >= 1


REFUSED = {
    "empty list": ("f, []", "empty list"),
    "a string": ("f, 'x'", "type str"),
    "list of numbers": ("f, [1, 2]", "type int as call 0"),
    "three": ("f, (), 3", "a tuple of 3"),
    "no callable": ("3, ()", "cannot be called"),
    "keys": ("f, {1: 2}", "not all strings"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_wrong_entry_is_told_what_is_expected(worker: Worker, tmp_path: Path, name: str) -> None:
    returned, words = REFUSED[name]
    text = f"import torch\ndef f(x):\n    return x + 1\ndef graphmend_entry(): return {returned}\n"
    failure = worker.analyse(tmp_path / "model.py", text=text)["failure"]
    assert (failure["stage"], failure["kind"], failure["line"]) == ("entry", "bad-entry", 4)
    assert words in failure["message"]
    assert "(callable, args)" in failure["remedy"]


def test_tensors_on_two_devices_are_told_with_both_ways_out(worker: Worker, tmp_path: Path) -> None:
    """With CUDA the inputs go there; a tensor that the program makes without a device does not."""
    said = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
    text = f"def f(x):\n    raise RuntimeError({said!r})\ndef graphmend_entry():\n    return f, (1,)\n"
    failure = worker.analyse(tmp_path / "model.py", text=text)["failure"]
    assert failure["message"] == f"RuntimeError: {said}"
    assert "(device=x.device)" in failure["remedy"] and "--device cpu" in failure["remedy"]


def test_kernelbench(worker: Worker, tmp_path: Path) -> None:
    text = (
        "import torch\nclass Model(torch.nn.Module):\n    def __init__(self, n):\n        super().__init__()\n"
        "        self.l = torch.nn.Linear(n, n)\n    def forward(self, x):\n        print(x.shape)\n        return self.l(x)\n"
        "def get_inputs(): return [torch.rand(2, 3)]\ndef get_init_inputs(): return INIT\n"
    )
    for initial in ("[3]", "[[], {'n': 3}]"):
        result = worker.analyse(tmp_path / "m.py", "Model", text=text.replace("INIT", initial), kind="kernelbench")
        assert result["failure"] is None
        assert [event["root"]["gb_id"] for event in result["events"]] == ["GB0059"]
    failure = worker.analyse(tmp_path / "m.py", "Model", text="class Model: pass\n", kind="kernelbench")["failure"]
    assert (failure["kind"], "get_inputs" in failure["message"]) == ("bad-entry", True)


def test_unsaved_text_is_seen_everywhere(worker: Worker, tmp_path: Path) -> None:
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "part.py").write_text("raise RuntimeError('the old text')\n")
    main = package / "model.py"
    main.write_text("raise RuntimeError('the old text')\n")
    texts = {
        str(main): "import inspect, linecache, torch\nfrom . import part\nfrom .new import three\n"
        "def f(x):\n    print(x)\n    return x + part.two + three\n"
        "assert 'print(x)' in inspect.getsource(f)\nassert linecache.getline(__file__, 5) == '    print(x)\\n'\n"
        "assert __name__ == 'pack.model'\n" + TAIL,
        str(package / "part.py"): "\ufefftwo = 2\r\n# \x0c \u2028\r\n",
        str(package / "new.py"): "three = 3\n",  # not on disk
    }
    result = worker.analyse(main, texts=texts)
    assert result["failure"] is None
    (event,) = result["events"]
    assert (event["frames"][-1]["file"], event["frames"][-1]["line"]) == (str(main), 5)
    assert "old text" in worker.analyse(main)["failure"]["message"]


def test_compiled_bytecode_on_disk_does_not_hide_unsaved_text(worker: Worker, tmp_path: Path) -> None:
    (tmp_path / "part.py").write_text("value = 1\n")
    main = tmp_path / "model.py"
    main.write_text("import part, torch\ndef f(x):\n    return x + 1\nassert part.value == 1\n" + TAIL)
    assert worker.analyse(main)["failure"] is None  # leaves a .pyc
    texts = {str(tmp_path / "part.py"): "value = 2\n"}
    failure = worker.analyse(main, texts=texts)["failure"]
    assert (failure["kind"], failure["line"]) == ("exception", 4)


NAMES = ["json.py", "types.py", "torch.py", "selectors.py", "wire.py", "recorder.py", "my-model.py", "transformers.py"]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_may_have_any_name(worker: Worker, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(
        "import torch, json\nassert json.dumps(1) == '1'\ndef f(x):\n    return x + 1\n" + TAIL
    )
    assert worker.analyse(tmp_path / name)["failure"] is None


CALLED = {
    "once": ("y = m(torch.ones(3))\nraise SystemExit\n", 1),
    "in a loop": ("for n in range(9):\n    m(torch.ones(n), k=[1]).sum()\nraise SystemExit\n", 3),
    "in a timed cell": ("if 1: m(torch.ones(3))\n", 1),
    "awaited": ("async def g(): return torch.ones(2)\nm(await g())\nraise SystemExit\n", 1),
    "behind what a kernel has": (
        "get_ipython().run_line_magic('m', '')\nget_ipython().getoutput('ls')\ndisplay(m)\nm(torch.ones(3))\n",
        1,
    ),
    "with what changes later": ("x = torch.ones(3)\nm(x.add_(1)).shape\nx = None\n", 1),
}


@pytest.mark.parametrize("name", CALLED)
def test_the_cells_of_a_notebook_run_up_to_the_call(worker: Worker, tmp_path: Path, name: str) -> None:
    cells, calls = CALLED[name]
    text = "from __future__ import annotations\nimport torch\ndef f(x, k=()):\n    print(x)\n    return x + 1\n"
    entry = {"function": "m", "kind": "called"}
    result = worker.analyse(tmp_path / "my nb.ipynb", text=f"{text}m = torch.compile(f)\n{cells}", **entry)
    assert result["failure"] is None
    assert result["calls"] == calls
    assert {event["frames"][-1]["line"] for event in result["events"]} == {4}


@pytest.mark.parametrize("folder", ["", ".virtual_documents"])
def test_the_cells_of_a_notebook_run_in_its_folder(worker: Worker, tmp_path: Path, folder: str) -> None:
    (tmp_path / "data.txt").write_text("12345")
    text = "import torch\nm = torch.compile(lambda x: x + 1)\nm(torch.ones(len(open('data.txt').read())))\n"
    result = worker.analyse(tmp_path / folder / "nb.ipynb", text=text, function="m", kind="called")
    assert (result["failure"], result["calls"]) == (None, 1)


def test_the_cells_of_a_notebook_run_up_to_its_entry(worker: Worker, tmp_path: Path) -> None:
    text = "import torch\ndef graphmend_entry(): return helper, (torch.ones(2),)\nraise SystemExit\n"
    text += "@missing\ndef other(): ...\ndef helper(x): return x + 1\n"
    result = worker.analyse(tmp_path / "nb.ipynb", text=text)
    assert (result["failure"], result["calls"]) == (None, 1)


def test_a_notebook_that_does_not_call_it_is_told(worker: Worker, tmp_path: Path) -> None:
    entry = {"function": "m", "kind": "called"}
    text = "import torch\nm = torch.compile(lambda x: x)\nif 0: m(1)\n"
    failure = worker.analyse(tmp_path / "nb.ipynb", text=text, **entry)["failure"]
    assert failure["kind"] == "no-inputs"
    assert "No cell of nb.ipynb calls m" in failure["message"]
    failure = worker.analyse(tmp_path / "nb.ipynb", text="import torch\nfiles\n" + text, **entry)["failure"]
    assert (failure["stage"], failure["line"]) == ("load", 2)


def test_roots_come_first(worker: Worker, tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "shared.py").write_text("two = 2\n")
    (tmp_path / "app").mkdir()
    main = tmp_path / "app" / "model.py"
    main.write_text("import torch, shared\ndef f(x):\n    return x + shared.two\n" + TAIL)
    assert worker.analyse(main)["failure"]["kind"] == "import"
    assert worker.analyse(main, roots=(str(tmp_path / "lib"),))["failure"] is None


def test_a_missing_file_is_said(worker: Worker, tmp_path: Path) -> None:
    failure = worker.analyse(tmp_path / "gone.py")["failure"]
    assert (failure["stage"], failure["kind"], failure["path"]) == ("load", "import", str(tmp_path / "gone.py"))


def test_a_file_of_site_packages_has_its_import_name() -> None:
    import torch

    from graphmend_lsp.worker.program import module_name

    folder = Path(torch.__file__).parent
    assert module_name(str(folder / "nn" / "functional.py")) == ("torch.nn.functional", None)
    assert module_name(str(folder / "__init__.py")) == ("torch", None)
