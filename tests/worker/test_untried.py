"""What was planned and not made is told: compiled probes that failed, probes that the mended program does not end."""

from __future__ import annotations

from dataclasses import replace

from graphmend_lsp.worker.children import Caught
from graphmend_lsp.worker.failures import failure
from graphmend_lsp.worker.judged import Ran, judged
from graphmend_lsp.worker.observe import Observation, Raised
from graphmend_lsp.worker.probes.hooks import HOOKED
from graphmend_lsp.worker.recipes import Recipe
from graphmend_lsp.worker.trials import Trial, _recompiles
from graphmend_lsp.worker.used import left_untried
from graphmend_lsp.worker.verify import _probes_of
from graphmend_lsp.worker.wire import Candidate, CountsData

NOTHING = CountsData(graphs=0, breaks=0, skipped_frames=0, skipped_rests=0, recompiles=0)
PROBE = Recipe(0, probe=HOOKED)
ENDLESS = Raised("TooLongError", "it did not end")


def trial(raised: Raised | None, recipe: Recipe = PROBE) -> Trial:
    return Trial("uncompiled", (recipe,), (Observation("call 1", {}, (), raised),), {}, NOTHING)


def test_a_compiled_probe_that_fails_is_told_with_its_reason() -> None:
    good = trial(None)
    failed = Caught(failure("call", "timeout", "The time limit was over."))
    trials, dropped = _probes_of([good, failed], [(PROBE,), (PROBE, Recipe(1, probe=HOOKED))])
    assert trials == (good,)
    assert dropped == (f"{HOOKED}, compiled: The time limit was over.",)
    candidate = Candidate(id="0", texts={}, conditions=[], changed={})
    result = judged(candidate, Ran((good,)), Ran((good,), dropped=dropped), [], NOTHING, {}, 0.0)
    assert result["untried"] == list(dropped)
    result = judged(candidate, Ran((good,), dropped=("a",)), Ran((good,), dropped=("a",)), [], NOTHING, {}, 0.0)
    assert result["untried"] == ["a"]


def test_a_probe_that_only_the_mended_program_does_not_end_is_told() -> None:
    words = [f"{HOOKED}: the mended program did not end"]
    assert left_untried(trial(None), trial(ENDLESS)) == words
    assert left_untried(trial(Raised("ValueError", "x")), trial(ENDLESS)) == words
    assert left_untried(trial(ENDLESS), trial(ENDLESS)) == []
    assert left_untried(trial(ENDLESS), trial(None)) == left_untried(trial(None), trial(None)) == []
    assert left_untried(trial(None, Recipe(0)), trial(ENDLESS, Recipe(0))) == []
    assert left_untried(None, trial(ENDLESS)) == left_untried(trial(None), None) == []


def test_a_compiled_probe_that_does_not_end_is_told() -> None:
    ended, endless = trial(None), replace(trial(ENDLESS), way="eager")
    candidate = Candidate(id="0", texts={}, conditions=[], changed={})
    result = judged(candidate, Ran((ended,)), Ran((ended, endless)), [], NOTHING, {}, 0.0)
    assert result["untried"] == [f"{HOOKED}, compiled: the mended program did not end"]


def test_a_compiled_probe_that_does_not_end_recompiles_nothing() -> None:
    """Its observation has no parts: the limit ended it before anything was seen."""
    ended = Observation("first call", {}, (), ENDLESS)
    assert _recompiles([ended], []) == 0


def test_what_was_not_compiled_is_not_judged() -> None:
    """Its first run differed, and the original differs from itself: without a failure it would be a program of no breaks."""
    candidate = Candidate(id="0", texts={}, conditions=[], changed={})
    own = trial(None, Recipe(0, own=True))
    result = judged(candidate, Ran((own,)), Ran((own,), differed=True), [], NOTHING, {}, 0.0)
    assert result["failure"] is not None and "did not compile" in result["failure"]["message"]
    result = judged(candidate, Ran((own,)), Ran((own, replace(own, way="eager"))), [], NOTHING, {}, 0.0)
    assert result["failure"] is None
