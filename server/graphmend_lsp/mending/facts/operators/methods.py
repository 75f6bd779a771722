"""What only a tensor has: methods, and attributes that are read without a call. Read by `operator.read`."""

METHODS = """
[elementwise bool maybe]
bool
[elementwise int64 maybe keeps_sign]
long
[elementwise int32 maybe]
int
[elementwise int16 maybe]
short
[elementwise int8 maybe]
char
[elementwise uint8 maybe nonnegative]
byte
[elementwise float32 maybe linear keeps_sign]
float
[elementwise float64 maybe linear keeps_sign]
double
[elementwise float16 maybe linear keeps_sign]
half
[elementwise bfloat16 maybe linear keeps_sign]
bfloat16
[elementwise complex64 maybe]
cfloat
[elementwise complex128 maybe]
cdouble
[elementwise complex32 maybe]
chalf
[elementwise same maybe linear keeps_sign]
contiguous pin_memory
[elementwise same maybe linear keeps_sign moves]
cpu cuda ipu mtia xpu
[elementwise argument maybe moves]
to type_as
[argument maybe moves]
type                                # without an argument it gives the name of the type
[layout same maybe]
reshape_as to_dense to_padded_tensor coalesce values sparse_mask
resize resize_as
as_subclass
to_sparse to_sparse_coo to_sparse_csc to_sparse_csr to_sparse_bsc to_sparse_bsr to_mkldnn
[layout int64 maybe]
indices crow_indices col_indices ccol_indices row_indices
[maybe]
sum_to_size
[layout same view keeps_sign]
expand expand_as unfold view_as
[layout view]                       # with a dtype it looks at the same bytes as another
view
[layout same]
repeat
[layout same maybe raises]
index                               # as t[...]
[makes same]
new_empty new_empty_strided new_full new_ones new_zeros
[cut]
new_tensor
[maybe]
new

[elementwise self same effect]      # in place only
copy_ fill_ zero_ requires_grad_ map_ map2_ apply_
[self same cut effect]
detach_
[self same effect keeps]
fill_diagonal_ tril_ triu_ resize_ resize_as_ resize_as_sparse_ set_ as_strided_ share_memory_ sparse_resize_
sparse_resize_and_clear_ addbmm_ addmm_ addmv_ addr_ baddbmm_ renorm_
[self same raises effect keeps]
index_add_ index_copy_ index_fill_ index_put_ index_reduce_ masked_scatter_ put_ scatter_ scatter_add_ scatter_reduce_
[self same random effect]
bernoulli_ cauchy_ exponential_ geometric_ log_normal_ normal_ random_ uniform_
[elementwise self same effect]
polygamma_ mvlgamma_
[view cut effect]
module_load

[none effect]
backward retain_grad record_stream reinforce
[object effect]
register_hook register_post_accumulate_grad_hook

[number reads]
item
[object reads]
tolist
[object maybe reads]
numpy
[object maybe]
storage untyped_storage
[object]
storage_type qscheme dim_order
[number]
data_ptr const_data_ptr element_size dense_dim sparse_dim dim ndimension nelement storage_offset
[size]
size stride
[flag]
is_coalesced is_contiguous is_pinned is_set_to is_shared
"""

ATTRIBUTES = """
[layout same view]
H T mH mT
[layout view]
imag
[layout maybe]
real
[elementwise same view cut linear keeps_sign]
data
[maybe]
grad
[object]
grad_fn device dtype grad_dtype layout name
[size]
shape
[number]
itemsize nbytes ndim output_nr
[flag]
is_cpu is_cuda is_ipu is_leaf is_maia is_meta is_mkldnn is_mps is_mtia is_nested is_quantized is_sparse is_sparse_csr
is_vulkan is_xla is_xpu requires_grad retains_grad volatile
"""
