"""Python imports this at its start when ``graphmend-lsp record`` has put this folder in front of PYTHONPATH.

Takes the folder off sys.path again, runs the sitecustomize that would have been imported without it, and watches for the
import of torch._dynamo; nothing else happens in a process that does not use it. Must not fail, print, or import what a
bare Python has not imported yet; any Python 3 can read it.
"""

import os
import sys
import time

_STARTED = time.time_ns()
_HERE = os.path.dirname(os.path.abspath(__file__))
_FOLDER = os.environ.get("GRAPHMEND_RECORD", "")
_PACKAGE = "graphmend_recording"


class _Watch:
    """The first finder of modules: has the recorder installed as soon as torch._dynamo has been imported."""

    def find_spec(self, name, path=None, target=None):  # type: ignore[no-untyped-def]
        """Nothing, except for torch._dynamo: what the other finders find, with our turn after its import."""
        if name != "torch._dynamo":
            return None
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None else None
            if spec is not None:
                _then_record(spec.loader)
                return spec
        return None


def _then_record(loader):  # type: ignore[no-untyped-def]
    execute = loader.exec_module

    def exec_module(module):  # type: ignore[no-untyped-def]
        del loader.exec_module
        execute(module)
        try:
            _begin()
        except Exception as error:  # the user's program goes on, whatever is wrong with us
            _note("defect", repr(error))

    try:
        loader.exec_module = exec_module
    except AttributeError as error:
        _note("defect", repr(error))


def _begin():  # type: ignore[no-untyped-def]
    """Load the worker's folder as a package under a private name, and start to record."""
    import importlib
    import importlib.util

    worker = os.path.dirname(_HERE)
    spec = importlib.util.spec_from_file_location(
        _PACKAGE, os.path.join(worker, "__init__.py"), submodule_search_locations=[worker]
    )
    package = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    sys.modules[_PACKAGE] = package
    spec.loader.exec_module(package)  # type: ignore[union-attr]
    importlib.import_module(_PACKAGE + ".recording").begin(_FOLDER, _STARTED)


def _note(name, words):  # type: ignore[no-untyped-def]
    """Leave a file in the recording's folder, once."""
    path = os.path.join(_FOLDER, name)
    if not os.path.exists(path):
        try:
            handle = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
            os.write(handle, words.encode("utf-8", "backslashreplace"))
            os.close(handle)
        except OSError:
            pass


def _is_here(folder):  # type: ignore[no-untyped-def]
    return folder != "" and os.path.abspath(folder) == _HERE


sys.path[:] = [folder for folder in sys.path if not _is_here(folder)]
if _FOLDER and os.path.isdir(_FOLDER):
    if sys.version_info >= (3, 10):  # noqa: UP036 - the program's Python may be any
        _note("began", "")
        if "torch._dynamo" not in sys.modules:
            sys.meta_path.insert(0, _Watch())
    else:
        _note("old-python", sys.version.split()[0])

_ours = sys.modules.pop("sitecustomize", None)
try:
    __import__("sitecustomize")  # the user's own, now that our folder is out of the way
except ImportError as _error:
    if _ours is not None:
        sys.modules["sitecustomize"] = _ours
    if _error.name != "sitecustomize":
        raise
