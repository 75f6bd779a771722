"""The detectors in the order in which they are asked; the first that knows an expression names the break.

One detector a file. A detector sees one expression with the kinds of its parts; it never walks, imports or remembers.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from graphmend_lsp.analysis.detectors import (
    chains,
    clocks,
    conditions,
    constructors,
    equality,
    gradients,
    loggers,
    masks,
    mathematics,
    negations,
    picks,
    prints,
    randomness,
    scalars,
    shapes,
    sizes,
    system,
    texts,
    warns,
)
from graphmend_lsp.analysis.detectors.detector import Detector

DETECTORS: tuple[Detector, ...] = (
    conditions,
    chains,
    negations,
    picks,
    prints,
    loggers,
    warns,
    scalars,
    mathematics,
    equality,
    shapes,
    sizes,
    masks,
    picks,
    clocks,
    randomness,
    system,
    texts,
    gradients,
    constructors,
)

BY_SIGHT: Mapping[str, tuple[Detector, ...]] = MappingProxyType(
    {on: tuple(each for each in DETECTORS if on == each.ON) for on in sorted({each.ON for each in DETECTORS})}
)
