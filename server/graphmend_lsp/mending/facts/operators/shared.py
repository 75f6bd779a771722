"""What `torch` has both as a function and as a method of a tensor: one row for both.

Read by `operator.read`; checked against torch in tests/mending/facts/test_operators.py.
"""

SHARED = """
[elementwise same twin]
abs absolute ceil fix floor neg negative round trunc
nan_to_num relu
sgn sign
[elementwise promoted twin]
square
[elementwise same maybe twin]
conj_physical
[elementwise same maybe]
positive
[elementwise float twin]
arcsinh arctan asinh atan cos deg2rad erf erfc frac rad2deg sigmoid sin sinc tan tanh
[elementwise float]
angle hardshrink
[elementwise float twin safe=0]
exp exp2 expm1 cosh sinh i0
[elementwise float twin safe=1]
log log2 log10 sqrt rsqrt reciprocal lgamma digamma
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
[elementwise promoted twin]
add sub subtract mul multiply
clamp clamp_max clamp_min clip
bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift
gcd lcm
addcmul
[elementwise promoted twin safe=1]
pow
[elementwise promoted twin raises safe=1]   # of integers by zero
fmod remainder floor_divide
[elementwise same twin]
bitwise_not
[elementwise promoted]
fmax fmin maximum minimum
logaddexp logaddexp2
[elementwise promoted twin]
addcdiv lerp
igamma igammac
[elementwise promoted twin safe=1]
hypot
[elementwise promoted twin]
heaviside nextafter
[elementwise float64 twin safe=1]
float_power
[elementwise float twin]
arctan2 atan2 copysign ldexp
[elementwise float twin safe=1]
div divide true_divide xlogy
[elementwise same]
clone
[elementwise same twin]
masked_fill
[elementwise same view cut]
detach
[elementwise same maybe]
conj resolve_conj resolve_neg
[elementwise]
prelu where

[reduction wide neutral=0]
sum nansum
[reduction wide neutral=1]
prod
[reduction cut neutral=False]        # uint8 of uint8, else bool
any
[reduction cut neutral=True]
all
[reduction int64 neutral=0]
count_nonzero
[reduction float neutral=0]
norm
[reduction float]
mean nanmean
std var
[reduction float neutral=-inf]
logsumexp
[reduction same nonempty]
amax amin max min median nanmedian
quantile nanquantile
[reduction int64 nonempty]
argmax argmin
[reduction same tensors nonempty]
aminmax mode
[reduction same tensors]
kthvalue
[reduction float]
dist
[wide]
trace
[float]
det logdet
[tensors float]
slogdet
[flag reads]
allclose equal

[scan wide twin]
cumsum cumprod
[scan same]
logcumsumexp msort
softmax log_softmax
[scan tensors same keeps]
cummax cummin sort
[scan int64]
argsort

[layout view same]
adjoint diagonal narrow select
[layout same maybe]
flatten ravel reshape
[layout view same keeps]
slice_inverse
[layout view same]
broadcast_to moveaxis movedim permute unflatten
[layout view same twin]
squeeze swapaxes swapdims t transpose unsqueeze
[layout tensors view same]
chunk split split_with_sizes unsafe_chunk unsafe_split unsafe_split_with_sizes unbind
[layout tensors maybe same]
dsplit hsplit tensor_split vsplit
[layout view same]
as_strided imag
[layout maybe same]
real
[layout same]
flip fliplr flipud rot90 tile roll narrow_copy
diag diag_embed diagflat
[layout same keeps]
tril triu
[layout same raises]
gather index_select take take_along_dim repeat_interleave
[layout same keeps raises]
index_add index_copy index_fill index_put index_reduce masked_scatter put scatter scatter_add scatter_reduce
[layout same keeps]
diagonal_scatter select_scatter slice_scatter as_strided_scatter
[layout int64]
argwhere nonzero
[layout int64]
nonzero_static
[layout same]
unique unique_consecutive masked_select
[promoted]
diff

[promoted]
addbmm addmm addmv addr baddbmm bmm dot ger inner kron matmul mm mv outer vdot cross matrix_power
[float]
cov corrcoef matrix_exp
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
[int64 raises]
bincount
[unknown]
hash_tensor smm sspaddmm
stft istft
renorm
[random same]
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
