"""What a request's child does: take the temporary folder it was given and carry out one method.

Runs in a child of the worker's process, forked or fresh; `load_torch` and `warm_up` run in the process they fork from.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from typing import Any, cast

from . import cuda, inductor
from .compiling import leave_guards_untimed
from .failures import failure
from .loaded import Watch, loaded_of
from .preload import Learner, Preloaded
from .processes import TEMPORARY, Post, can_fork
from .texts import install_sources
from .wire import PROTOCOL, AnalyseParams, FailureStage, Hello, MeasureParams, VerifyParams

OLDEST = (2, 9)
NO_TORCH = "{} has no torch{}."


def carry_out(
    method: str,
    params: dict[str, Any],
    folder: str,
    post: Post,
    preloaded: Preloaded | None = None,
    *,
    compiled: str = "",
) -> Any:
    """The result of one request, as plain data; a failure of the program is part of it.

    `folder` is the request's own, `compiled` one in which all requests keep what a C++ compiler made, where there is such.
    An analysis also posts ``("imported", what)``: see `preload.Learner.told`.
    """
    tempfile.tempdir = folder
    os.environ.update(dict.fromkeys(TEMPORARY, folder))
    if params["device"] == "cpu":
        cuda.hide()
    install_sources(params.get("sources") or {}, folder)
    learner = Learner(preloaded.before if preloaded is not None else sys.modules)
    if preloaded is not None:
        watch = preloaded.watch
        watch.go_on(folder)
    else:
        watch = Watch(folder)
        watch.install()
    if compiled:
        watch.leave(compiled)
        inductor.share(compiled)
    standing = params.get("standing") is True
    if method == "analyse":
        from .analyse import analyse

        def stage(name: FailureStage) -> None:
            learner.at(name)
            post.stage(name)

        result = analyse(cast(AnalyseParams, params), stage, post)
        result["needs"] = watch.needs(standing=standing)
        earlier = result["needs"]["before"]
        result["loaded"] = [*(loaded_of(earlier) if earlier else []), *loaded_of(result["needs"])]
        post(("imported", learner.told(params["texts"])))
        return result
    if method == "measure":
        from .measure import measure

        return measure(cast(MeasureParams, params), lambda message: post(("progress", message)))
    from .verify import verify

    verdict = verify(cast(VerifyParams, params), lambda message: post(("progress", message)), watch)
    if can_fork():  # else what its processes touch is not known
        verdict["needs"] = watch.needs(standing=standing)
    return verdict


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Garbage stays while torch is loaded and warmed up: to look for the little there is takes a sixth of that time."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


@contextlib.contextmanager
def passing_folder() -> Iterator[None]:
    """A temporary folder for what torch writes when it is imported and warmed up; it and what points to it pass."""
    with tempfile.TemporaryDirectory(prefix="graphmend-") as folder, writing_to(folder):
        yield


@contextlib.contextmanager
def writing_to(folder: str) -> Iterator[None]:
    """Temporary files go to the folder; what is said of that, and all else, in the environment passes."""
    before = dict(os.environ), tempfile.tempdir
    try:
        tempfile.tempdir = os.environ["TMPDIR"] = folder
        yield
    finally:
        os.environ.clear()
        os.environ.update(before[0])
        tempfile.tempdir = before[1]


def load_torch() -> str | None:
    """Import torch and torch._dynamo and let it compute with one thread, so that forks of this process can compute.

    Returns what went wrong, if anything did.
    """
    try:
        torch = importlib.import_module("torch")
        torch.set_num_threads(1)
        importlib.import_module("torch._dynamo")
        leave_guards_untimed()
    except BaseException as error:  # a broken installation raises anything, SystemExit included
        return f"{type(error).__name__}: {error}"
    return None


def _who() -> str:
    return sys.executable or "This interpreter"


def _why(problem: str | None) -> str:
    if problem == "ModuleNotFoundError: No module named 'torch'":
        return ""
    return f": {problem or 'another module is named torch'}"


def hello() -> Hello:
    """Who this worker is; imports torch. `torch` is None when that fails."""
    said = Hello(
        protocol=PROTOCOL,
        torch=None,
        python=".".join(map(str, sys.version_info[:3])),
        executable=sys.executable,
        cuda=False,
        missing=[],
        failure=None,
    )
    problem = load_torch()
    torch = sys.modules.get("torch")
    version = getattr(torch, "__version__", None)
    if problem is not None or version is None:
        said["failure"] = failure("worker", "no-torch", NO_TORCH.format(_who(), _why(problem)))
        return said
    said["torch"] = str(version)
    found = re.match(r"(\d+)\.(\d+)", str(version))
    if found is not None and (int(found[1]), int(found[2])) < OLDEST:
        words = f"{_who()} has torch {version}, which is too old to record graph breaks."
        said["failure"] = failure("worker", "old-torch", words)
        return said
    from . import fake_mode, loaded
    from .recorder import missing_hooks

    said["missing"] = missing_hooks()
    parts = {"runs without data": fake_mode.missing_hooks(), "keeping results": loaded.missing_hooks()}
    said["reduced"] = {what: lacking for what, lacking in parts.items() if lacking}
    said["cuda"] = cuda.is_there(torch)
    return said


def warm_up(*, first: bool = True, rest: bool = True) -> None:
    """Compile something small, so that children find Dynamo's modules imported, its caches filled and its registry read.

    An analysis needs the `first` part only; a verdict compiles with a backward pass, too.
    """
    from . import analyse, recorder, verify, warming  # noqa: F401

    try:
        if first:
            recorder.gb_id("Call to `torch._dynamo.graph_break()`")
        warming.warm((*warming.RUNS[:1],) * first + (*warming.RUNS[1:],) * rest)
    except Exception as error:
        print(f"graphmend worker: warming up failed: {type(error).__name__}: {error}", file=sys.stderr)
    gc.freeze()  # collections in children then leave the shared pages alone


def warm_up_later() -> None:
    """The rest of warming up, while a first analysis runs in a child."""
    with passing_folder(), uncollected():
        warm_up(first=False)


def rehearse(folder: str) -> None:
    """In a fork of the warm process that has nothing to do yet: what an analysis touches becomes its own."""
    from . import warming

    with contextlib.suppress(Exception), writing_to(folder):  # without it the job is only slower
        warming.rehearse()
