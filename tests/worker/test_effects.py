"""What counts as an effect of a call."""

import pytest

from graphmend_lsp.worker.effects import Effect, Listener

HERE = "/home/me/model.py"


@pytest.mark.parametrize(
    ("message", "filename", "heard"),
    [
        ("careful", HERE, True),
        ("careful", "/env/lib/python3.11/site-packages/torch/_dynamo/variables/functions.py", False),
        ("Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.", HERE, False),
        (
            "Error detected in IndexPutBackward0. Traceback of forward call that caused the error:\n  File ...",
            HERE,
            False,
        ),
    ],
)
def test_warnings_of_the_program_are_heard(message: str, filename: str, heard: bool) -> None:
    listener = Listener()
    listener._warned(message, UserWarning, filename)
    assert listener.take() == ((Effect("warning", message, "UserWarning"),) if heard else ())


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ("2026-11-23 20:01:14.173 | WARNING  | a.b:f:464 - few\n", "<time> | WARNING  | a.b:f:… - few\n"),
        ("2026-11-23T20:01:14,173 few\n", "<time> few\n"),
        ("step:12 - loss:3\n", "step:12 - loss:3\n"),
        ("on 2026-11-23\n", "on 2026-11-23\n"),
    ],
)
def test_moments_of_a_stream_are_left_out(text: str, heard: str) -> None:
    listener = Listener()
    listener.hear(Effect("stderr", text))
    assert [one.text for one in listener.take()] == [heard]
