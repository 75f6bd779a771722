"""What `torch` has both as a function and as a method of a tensor: one row for both.

Read by `operator.read`; checked against torch in tests/mending/facts/test_operators.py.
"""

SHARED = """
[elementwise same twin nonnegative]
abs absolute relu
[elementwise same twin keeps_sign]
ceil fix floor round trunc
nan_to_num
sgn sign
[elementwise same twin linear]
neg negative
[elementwise promoted twin nonnegative]
square
[elementwise same maybe twin linear keeps_sign]
conj_physical
[elementwise same maybe linear keeps_sign]
positive
[elementwise float twin]
cos sin sinc tan
[elementwise float twin keeps_sign]
arcsinh arctan asinh atan deg2rad erf rad2deg tanh
[elementwise float twin nonnegative]
erfc sigmoid
[elementwise float twin floats keeps_sign]
frac
[elementwise float]
angle
[elementwise float floats keeps_sign]
hardshrink
[elementwise float twin nonnegative safe=0]
exp exp2 cosh i0
[elementwise float twin keeps_sign safe=0]
expm1 sinh
[elementwise float twin nonnegative safe=1]
sqrt rsqrt
[elementwise float twin keeps_sign safe=1]
reciprocal
[elementwise float twin safe=1]
log log2 log10 lgamma digamma
[elementwise float twin safe=0]
acos arccos asin arcsin atanh arctanh erfinv log1p
[elementwise float twin safe=2]
acosh arccosh
[elementwise float twin safe=0.5]
logit
[elementwise float]
polygamma mvlgamma

[elementwise bool]
isclose isfinite isinf isnan isneginf isposinf isreal signbit
[elementwise bool twin]
eq ge greater greater_equal gt le less less_equal lt ne not_equal
logical_and logical_not logical_or logical_xor
[elementwise promoted twin keeps_sign]
add mul multiply
addcmul
[elementwise promoted twin]
sub subtract
clamp clamp_max clamp_min clip
[elementwise promoted twin wholes]
bitwise_and bitwise_or bitwise_xor gcd lcm
[elementwise promoted twin]
bitwise_left_shift bitwise_right_shift
[elementwise promoted twin of_two safe=1]
pow
[elementwise promoted twin raises of_two safe=1]   # of integers by zero
fmod remainder floor_divide
[elementwise same twin wholes]
bitwise_not
[elementwise promoted keeps_sign]
fmax fmin maximum minimum
[elementwise promoted floats]
logaddexp logaddexp2
[elementwise promoted twin floats]
addcdiv lerp
igamma igammac
[elementwise promoted twin floats nonnegative of_two safe=1]
hypot
[elementwise promoted twin]
heaviside
[elementwise promoted twin floats]
nextafter
[elementwise float64 twin of_two safe=1]
float_power
[elementwise float twin]
arctan2 atan2 copysign ldexp
[elementwise float twin of_two safe=1]
div divide true_divide xlogy
[elementwise same linear keeps_sign]
clone
[elementwise same twin]
masked_fill
[elementwise same view cut linear keeps_sign]
detach
[elementwise same maybe linear keeps_sign]
conj resolve_conj resolve_neg
[elementwise]
prelu where

[reduction wide keeps_sign neutral=0]
sum nansum
[reduction wide keeps_sign neutral=1]
prod
[reduction truth cut neutral=False]
any
[reduction truth cut neutral=True]
all
[reduction int64 nonnegative neutral=0]
count_nonzero
[reduction float floats nonnegative neutral=0]
norm
[reduction float floats keeps_sign]
mean nanmean
[reduction float floats nonnegative]
std var
[reduction float neutral=-inf]
logsumexp
[reduction same keeps_sign nonempty]
amax amin max min median nanmedian
[reduction same nonempty]
quantile nanquantile
[reduction int64 nonnegative nonempty]
argmax argmin
[reduction same tensors nonempty]
aminmax mode
[reduction same tensors]
kthvalue
[reduction float floats nonnegative dimensionless]
dist
[wide dimensionless]
trace
[float floats]
det logdet
[tensors float]
slogdet
[flag reads]
allclose equal

[scan wide twin]
cumsum cumprod
[scan same floats]
logcumsumexp
[scan same keeps_sign]
msort
[scan same floats nonnegative]
softmax
[scan same floats]
log_softmax
[scan tensors same keeps]
cummax cummin sort
[scan int64]
argsort

[layout view same keeps_sign]
adjoint diagonal narrow select
[layout same maybe keeps_sign]
flatten ravel reshape
[layout view same keeps]
slice_inverse
[layout view same keeps_sign]
broadcast_to moveaxis movedim permute unflatten
[layout view same twin keeps_sign]
squeeze swapaxes swapdims t transpose unsqueeze
[layout tensors view same keeps_sign]
chunk split split_with_sizes unsafe_chunk unsafe_split unsafe_split_with_sizes unbind
[layout tensors maybe same]
dsplit hsplit tensor_split vsplit
[layout view same]
as_strided imag
[layout maybe same]
real
[layout same keeps_sign]
flip fliplr flipud rot90 tile roll narrow_copy
diag diag_embed diagflat
[layout same keeps keeps_sign]
tril triu
[layout same raises keeps_sign]
gather index_select take take_along_dim repeat_interleave
[layout same keeps raises]
index_add index_copy index_fill index_put index_reduce masked_scatter put scatter scatter_add scatter_reduce
[layout same keeps]
diagonal_scatter select_scatter slice_scatter as_strided_scatter
[layout int64 nonnegative]
argwhere nonzero
[layout int64]
nonzero_static
[layout same keeps_sign]
unique unique_consecutive masked_select
[promoted]
diff

[promoted]
addbmm addmm addmv addr baddbmm bmm ger inner kron matmul mm mv outer cross
[promoted raises]
matrix_power
[promoted dimensionless]
dot vdot
[float]
cov corrcoef
[float floats]
matrix_exp
[float tensors]
geqrf qr triangular_solve
[float tensors raises]
lu svd
[float raises]
cholesky cholesky_inverse cholesky_solve inverse lu_solve orgqr ormqr pinverse
[raises tensors]
eig solve symeig lstsq
[tensors same]
topk
[tensors float]
frexp
[tensors same raises]
histogram
[cut same raises]
histc
[int64 nonnegative raises]
bincount
[unknown]
hash_tensor smm sspaddmm
stft istft
renorm
[random same floats nonnegative keeps]
bernoulli
[random int64 raises]
multinomial
[maybe]
dequantize int_repr

[flag]
is_complex is_conj is_distributed is_floating_point is_inference is_neg is_same_size is_signed
[flag reads]
is_nonzero
[number]
numel get_device q_scale q_zero_point q_per_channel_axis
[unknown]
q_per_channel_scales q_per_channel_zero_points
"""
