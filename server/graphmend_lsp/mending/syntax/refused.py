"""Why a rule does not mend, raised where that is seen and caught where the rule answers."""


class Refused(Exception):  # noqa: N818 - not an error: the reason a rule gives
    """Why the rule does not mend; never leaves the rule."""
