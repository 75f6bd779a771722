"""Kernels of inductor for the CPU, compiled many at a time: a run of the C++ compiler costs more than what it compiles.

Torch compiles each kernel by itself (0.8 s, of which 0.2 s are the kernel's: torch 2.13, g++). Here the kernels of a graph wait
until the last of them is known, and become one library: the same code with the same flags, called through what torch
itself writes around a kernel. A library of a worker's folder serves all its processes. Where anything is not as this module
knows it, torch compiles as it does without. Torch is imported where it is used.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

MOST = 24  # kernels of a library
_BODY, _TABLE, _MODULE = (
    "static PyObject* {entry_func}_py",
    "static PyMethodDef py_methods",
    "static struct PyModuleDef",
)
_INCLUDE = re.compile(r"^\s*#include\s+<torch/csrc/inductor/cpp_prefix\.h>\s*$", re.MULTILINE)
_DIRECTIVE = re.compile(r"^\s*#\s*(?!pragma\b)", re.MULTILINE)  # a macro would hold in the kernels behind it, too
_ENTRY = re.compile(r'extern\s+"C"\s+void\s+kernel\s*\(')
_NAME = "kernels"


def compile_together(folder: str, remark: str = "") -> None:
    """Let inductor compile the kernels of a graph together from now on; libraries are found again by notes in the folder.

    `remark` is a comment in every library.

    Raises:
        ImportError, AttributeError: this torch is made otherwise.
    """
    from torch._inductor import async_compile, codecache

    kind = async_compile.AsyncCompile
    bindings = codecache.CppPythonBindingsCodeCache
    form = _Form.of(bindings.suffix_template)
    alone, wait = kind.cpp_pybinding, kind.wait
    if form is None or getattr(kind, "_graphmend", False):
        return

    class Together(bindings):  # type: ignore[misc, valid-type]
        cache: ClassVar[dict[str, Any]] = {}
        entry_function = _NAME

    libraries = _Libraries(folder, Together, form, remark)

    def later(self: Any, argtypes: Sequence[str], source_code: str) -> Any:
        waiting = vars(self).setdefault("_graphmend_waiting", [])
        waiting.append(_Waiting(tuple(argtypes), source_code, lambda: alone(self, argtypes, source_code)))
        return waiting[-1]

    def wait_for_all(self: Any, scope: dict[str, Any]) -> None:
        libraries.compile(vars(self).pop("_graphmend_waiting", []))
        scope.update({name: one.made for name, one in scope.items() if isinstance(one, _Waiting)})
        wait(self, scope)

    kind.cpp_pybinding, kind.wait, kind._graphmend = later, wait_for_all, True


@dataclass
class _Waiting:
    """A kernel that is to be compiled: the types of its arguments, its source, and how torch compiles it by itself."""

    argtypes: tuple[str, ...]
    source: str
    alone: Callable[[], Any]
    made: Any = None

    def __call__(self, *arguments: Any) -> Any:
        if self.made is None:
            self.made = self.alone()
        return self.made(*arguments)

    @property
    def fits(self) -> bool:
        """Whether it can stand beside others: it includes what all include, and has one function that is called."""
        rest = _INCLUDE.sub("", self.source, count=1)
        return rest != self.source and _DIRECTIVE.search(rest) is None and len(_ENTRY.findall(rest)) == 1

    def within(self, number: int) -> str:
        """Its source as one of several: in a namespace, and its function under a name of its own."""
        body = _ENTRY.sub(f'extern "C" void kernel_{number}(', _INCLUDE.sub("", self.source, count=1))
        return f"namespace graphmend_{number} {{\n{body}\n}}\n"


@dataclass(frozen=True)
class _Form:
    """What torch writes around a kernel: in front of all functions, one function, and the module."""

    head: str
    body: str
    module: str

    @classmethod
    def of(cls, template: str) -> _Form | None:
        """The parts of torch's template; None where it is another."""
        places = [template.find(one) for one in (_BODY, _TABLE, _MODULE)]
        if -1 in places or places != sorted(places):
            return None
        return cls(template[: places[0]], template[places[0] : places[1]], template[places[2] :])

    def source(self, kernels: Sequence[_Waiting]) -> str:
        """The source of one library with these kernels, `kernel_0` and so on."""
        said = {"entry_func": _NAME, "extra_parse_arg": "", "arg_len": 0, "call_entry_func": ""}
        parts = ["#include <torch/csrc/inductor/cpp_prefix.h>\n", *(one.within(at) for at, one in enumerate(kernels))]
        parts.append(self.head.format(**said))
        table = []
        for at, one in enumerate(kernels):
            given = ", ".join(
                f"parse_arg<{kind.replace('const ', '')}>(args, {n})" for n, kind in enumerate(one.argtypes)
            )
            name = f"kernel_{at}"
            call = f"graphmend_{at}::{name}({given}); Py_RETURN_NONE;"
            parts.append(
                self.body.format(**{**said, "entry_func": name, "arg_len": len(one.argtypes), "call_entry_func": call})
            )
            table.append(f'{{"{name}", {name}_py, METH_VARARGS, ""}},')
        parts.append(f"static PyMethodDef py_methods[] = {{{' '.join(table)} {{NULL, NULL, 0, NULL}}}};\n")
        parts.append(self.module.format(**said))
        return "\n".join(parts)


@dataclass
class _Libraries:
    """The libraries of a folder; `loader` is torch's class that compiles and loads one."""

    folder: str
    loader: Any
    form: _Form
    remark: str = ""
    known: dict[str, Any] = field(default_factory=dict)

    def compile(self, kernels: Sequence[_Waiting]) -> None:
        """Make every kernel, together where that can be."""
        left: dict[str, _Waiting] = {}
        for one in kernels:
            name = self._name(one)
            if one.fits and (found := self._found(name)) is not None:
                one.made = found
            elif one.fits and name not in left:
                left[name] = one
        for vectors in (False, True):  # torch chooses the instructions of a source by whether it has vectors
            group = [(name, one) for name, one in left.items() if ("at::vec" in one.source) is vectors]
            for start in range(0, len(group), MOST):
                self._make(group[start : start + MOST])
        for one in kernels:
            if one.made is None:
                one.made = self.known.get(self._name(one)) or one.alone()

    def _make(self, group: Sequence[tuple[str, _Waiting]]) -> None:
        if len(group) < 2:
            return
        try:
            source = self.form.source([one for _, one in group])
            module = self.loader.load_async(f"{source}\n{self.remark}", "cpu")()
        except Exception:  # what is wrong with one of them torch says of that one
            return
        for at, (name, one) in enumerate(group):
            one.made = self.known[name] = getattr(module, f"kernel_{at}")
            self._note(name, f"{module.__file__}\n{module.__name__.rpartition('.')[0]}\nkernel_{at}")

    def _note(self, name: str, text: str) -> None:
        place = os.path.join(self.folder, name)
        with contextlib.suppress(OSError):
            with open(f"{place}-{os.getpid()}", "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(file.name, place)

    def _found(self, name: str) -> Any:
        """The kernel of a library that this process or another has made; None where there is none."""
        if name in self.known:
            return self.known[name]
        with contextlib.suppress(OSError, ValueError, ImportError, AttributeError):
            with open(os.path.join(self.folder, name), encoding="utf-8") as file:
                path, key, function = file.read().split("\n")
            self.known[name] = getattr(self.loader._load_library_inner(path, key), function)
        return self.known.get(name)

    def _name(self, kernel: _Waiting) -> str:
        """The name of a kernel's note, by all that decides what it becomes."""
        from torch._inductor import config

        chosen = sorted((key, repr(value)) for key, value in config.get_config_copy().items() if key.startswith("cpp"))
        said = repr((kernel.argtypes, kernel.source, chosen))
        return f"kernel-{hashlib.blake2b(said.encode(), digest_size=12).hexdigest()}"
