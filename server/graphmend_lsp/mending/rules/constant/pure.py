"""Functions whose result follows from their arguments alone: no clock, disk, environment, locale, setting or random number.

Each was looked up in the documentation of Python 3.11, numpy and torch. What depends on the time zone (``datetime.timestamp``),
on a context (``decimal`` arithmetic), on the user's files (``os.path.expanduser``) or on a default that may be set
(``torch.tensor``) is not here.
"""

from __future__ import annotations

from typing import Literal

Result = Literal["value", "mutable", "object"]
"""A *value* cannot be changed in place and is a constant to Dynamo; an *object* is read further by a method of its own."""

_VALUES = {
    "zlib": ("crc32", "adler32", "compress", "decompress"),
    "binascii": ("crc32", "crc_hqx", "hexlify", "unhexlify", "b2a_base64", "a2b_base64", "b2a_hex", "a2b_hex"),
    "base64": ("b64encode", "b64decode", "urlsafe_b64encode", "urlsafe_b64decode", "b32encode", "b32decode", "b16encode",
               "b16decode", "b85encode", "b85decode"),
    "json": ("dumps",),
    "struct": ("pack", "unpack", "calcsize"),
    "html": ("escape", "unescape"),
    "shlex": ("quote", "join"),
    "textwrap": ("dedent", "indent", "fill", "shorten"),
    "string": ("capwords",),
    "fnmatch": ("fnmatchcase", "translate"),
    "unicodedata": ("category", "name", "normalize", "decimal", "digit", "numeric", "combining", "bidirectional"),
    "urllib.parse": ("quote", "quote_plus", "unquote", "unquote_plus", "urljoin"),
    "keyword": ("iskeyword",),
    "calendar": ("isleap", "leapdays", "monthrange", "weekday", "timegm"),
    "colorsys": ("rgb_to_hsv", "hsv_to_rgb", "rgb_to_hls", "hls_to_rgb", "rgb_to_yiq", "yiq_to_rgb"),
    "statistics": ("mean", "fmean", "median", "pstdev", "stdev", "pvariance", "variance", "geometric_mean", "harmonic_mean"),
    "bisect": ("bisect", "bisect_left", "bisect_right"),
    "pprint": ("pformat",),
    "cmath": ("sqrt", "exp", "log", "phase", "polar", "rect", "sin", "cos"),
    "numpy": ("isscalar",),
    "torch": ("can_cast", "promote_types"),
}  # fmt: skip
_MATH = (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "comb", "copysign", "cos", "cosh", "degrees",
    "dist", "erf", "erfc", "exp", "exp2", "expm1", "fabs", "factorial", "floor", "fmod", "frexp", "fsum", "gamma", "gcd",
    "hypot", "isclose", "isfinite", "isinf", "isnan", "isqrt", "lcm", "ldexp", "lgamma", "log", "log10", "log1p", "log2", "modf",
    "nextafter", "perm", "pow", "prod", "radians", "remainder", "sin", "sinh", "sqrt", "tan", "tanh", "trunc", "ulp",
)  # fmt: skip
_HASHES = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512", "sha3_224", "sha3_256", "sha3_384", "sha3_512", "blake2b",
           "blake2s")  # fmt: skip
_ARRAYS = ("array", "prod", "sum", "mean", "median", "std", "var", "max", "min", "interp", "digitize", "percentile", "quantile",
           "dot", "log", "log2", "log10", "exp", "sqrt", "ceil", "floor", "round", "abs", "power", "gcd", "lcm", "argmax",
           "argmin", "count_nonzero", "cumsum", "diff", "searchsorted", "unique", "linspace", "arange")  # fmt: skip

FUNCTIONS: dict[str, Result] = {
    **{f"{module}.{name}": "value" for module, names in _VALUES.items() for name in names},
    **{f"math.{name}": "value" for name in _MATH},
    **{f"hashlib.{name}": "object" for name in _HASHES},
    **{f"numpy.{name}": "object" for name in _ARRAYS},
    **{f"shlex.{name}": "mutable" for name in ("split",)},
    **{f"datetime.{name}": "object" for name in ("date", "timedelta", "date.fromisoformat", "date.fromordinal")},
    "fractions.Fraction": "object",
    "json.loads": "mutable",
}
"""The functions by their full names, and what they give."""

OF_TEXT = frozenset(
    name
    for name in FUNCTIONS
    if name.startswith(
        ("zlib.", "binascii.", "base64.", "hashlib.", "html.", "unicodedata.", "urllib.parse.", "keyword.")
    )
) | {"shlex.quote", "json.loads"}
"""Those whose first argument is text or bytes."""

BUILTINS: dict[str, Result] = {
    **dict.fromkeys((
        "abs", "all", "any", "ascii", "bin", "bool", "bytes", "chr", "complex", "divmod", "float", "format", "frozenset",
        "hex", "int", "len", "max", "min", "oct", "ord", "pow", "repr", "round", "str", "sum", "tuple",
    ), "value"),
    **dict.fromkeys(("list", "dict", "set", "sorted", "bytearray"), "mutable"),
    **dict.fromkeys(("range", "zip", "enumerate", "reversed", "memoryview"), "object"),
}  # fmt: skip
"""Builtins that give the same for the same constants. Not ``hash``: that of a text is another one in each process."""

METHODS: dict[str, Result] = {
    **dict.fromkeys((
        "encode", "decode", "upper", "lower", "title", "capitalize", "casefold", "swapcase", "strip", "lstrip", "rstrip",
        "replace", "join", "format", "center", "ljust", "rjust", "zfill", "expandtabs", "removeprefix", "removesuffix",
        "startswith", "endswith", "find", "rfind", "index", "rindex", "count", "isalpha", "isdigit", "isalnum", "isspace",
        "isupper", "islower", "isidentifier", "isnumeric", "isdecimal", "partition", "rpartition", "hex", "tobytes",
        "to_bytes", "bit_length", "bit_count", "as_integer_ratio", "is_integer", "conjugate", "get",
        "hexdigest", "digest", "isoformat", "toordinal", "weekday", "isoweekday", "total_seconds",
    ), "value"),
    **dict.fromkeys(("split", "rsplit", "splitlines", "tolist", "copy"), "mutable"),
    **dict.fromkeys(("keys", "values", "items", "sum", "prod", "mean", "max", "min", "std", "item"), "object"),
}  # fmt: skip
"""Methods of texts, numbers, containers and of what the functions above give that change nothing."""

OF_TYPES = {"str.maketrans": "mutable", "int.from_bytes": "value", "float.fromhex": "value", "bytes.fromhex": "value"}
"""Methods of builtin types, written with the type."""
