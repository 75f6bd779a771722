"""The rule `constant`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="constant",
    order=15,
    tier="first choice",
    breaks=frozenset(
        (
            "GB0007",
            "GB9193",
            "GB0008",
            "GB0156",
            "GB0059",
            "GB0208",
            "GB0294",
            "GB0033",
            "GB0134",
            "GB0147",
            "GB0299",
            "GB4880",
        )
    ),
    what_breaks='a function of constants: `zlib.crc32(b"a")`, `json.dumps({"a": 1})`',
    becomes="a constant of the file; of other texts and numbers, a function that Dynamo evaluates while it traces",
)
