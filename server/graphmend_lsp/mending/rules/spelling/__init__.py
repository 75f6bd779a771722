"""The rule `spelling`: what it declares. `rule` says what it does and proposes, `examples` are its tests and its page."""

from graphmend_lsp.mending.rule import Declaration

RULE = Declaration(
    name="spelling",
    order=12,
    tier="first choice",
    breaks=frozenset(
        {
            "GB0059",
            "GB0208",
            "GB0007",
            "GB9193",
            "GB0008",
            "GB0033",
            "GB0156",
            "GB4315",
            "GB0142",
            "GB0127",
            "UserError",
        }
    ),
    what_breaks="`pow(x, 2)`, `x.is_signed()`, `int(np.prod(x.shape))`, and other spellings that Dynamo does not know",
    becomes="the equal form that it traces: `x ** 2`, `x.dtype.is_signed`, `math.prod(x.shape)`",
)
