"""What `torch.special` and `torch.linalg` have. Read by `operator.read`.

What `torch` has too, maybe under another name, is taken from there.
"""

SPECIAL_AS = {
    "digamma": "digamma", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "exp2": "exp2", "expit": "sigmoid", "expm1": "expm1",
    "gammaln": "lgamma", "i0": "i0", "log1p": "log1p", "log_softmax": "log_softmax", "logit": "logit", "logsumexp": "logsumexp",
    "multigammaln": "mvlgamma", "polygamma": "polygamma", "psi": "digamma", "round": "round", "sinc": "sinc",
    "softmax": "softmax", "xlogy": "xlogy",
}  # fmt: skip
LINALG_AS = {
    "cholesky": "cholesky", "det": "det", "diagonal": "diagonal", "eig": "eig", "inv": "inverse", "lu": "lu", "matmul": "matmul",
    "matrix_exp": "matrix_exp", "pinv": "pinverse", "qr": "qr", "slogdet": "slogdet",
    "svd": "svd", "vander": "vander",
}  # fmt: skip

SPECIAL = """
[elementwise float nonnegative]
i0e ndtr
[elementwise float nonnegative of_two safe=1]
gammainc gammaincc
[elementwise float]
i1e log_ndtr
[elementwise float nonnegative safe=0]
erfcx
[elementwise float safe=0]
i1
[elementwise float safe=1]
entr
[elementwise float safe=0.5]
ndtri
[elementwise float of_two safe=1]
xlog1py
[elementwise float cut]
airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 spherical_bessel_j0
modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1
chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w
hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p
shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w
"""

LINALG = """
[reduction float floats nonnegative raises]    # with an order: by singular values
norm
[reduction float floats nonnegative]
vector_norm
[float floats nonnegative raises]
cond matrix_norm
[promoted]
cross multi_dot
[promoted raises]
matrix_power
[promoted keeps_sign]
vecdot
[int64 nonnegative raises]
matrix_rank
[float raises]
eigvalsh householder_product ldl_solve lu_solve solve solve_triangular svdvals tensorinv tensorsolve
[raises]
eigvals
[tensors raises]
cholesky_ex eigh inv_ex ldl_factor ldl_factor_ex lstsq lu_factor lu_factor_ex solve_ex
"""
