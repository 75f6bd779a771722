"""Masks that do not fit what they mask. Imports torch.

On the CPU, `scaled_dot_product_attention` takes a mask of fewer rows than the batch has and reads past its end (torch 2.13);
traced, the same call raises. A program is not shown with inputs that only seem to run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode


class FittingMasks(TorchFunctionMode):
    """While it is active, attention with a mask that cannot be broadcast raises what adding that mask would raise."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Call the function, behind the check."""
        given = kwargs or {}
        if func is functional.scaled_dot_product_attention:
            named = {**dict(zip(("query", "key", "value", "attn_mask"), args, strict=False)), **given}
            _check(named.get("query"), named.get("key"), named.get("attn_mask"))
        return func(*args, **given)


def _check(query: Any, key: Any, mask: Any) -> None:
    """Raises:
    RuntimeError: the mask does not fit the scores.
    """
    if not all(isinstance(one, torch.Tensor) for one in (query, key, mask)):
        return
    scores = (*query.shape[:-1], key.shape[-2])
    for back in range(1, min(len(scores), mask.dim()) + 1):
        wanted, size = scores[-back], mask.shape[-back]
        if size not in (1, wanted):
            raise RuntimeError(
                f"The size of tensor a ({wanted}) must match the size of tensor b ({size}) at non-singleton dimension "
                f"{len(scores) - back}"
            )
