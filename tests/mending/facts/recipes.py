"""How the operators are called that take none of the usual forms of operands; the words are in `observed._Operands`."""

from graphmend_lsp.mending.facts.operators import Operator

USUAL = {"elementwise": ("x", "x, y", "x, 2.0"), "reduction": ("x", "c, 1", "x, y"), "scan": ("x", "x, 0", "c, 1")}
"""By the form that the table says; `OTHERWISE` for those that are no such form."""
OTHERWISE = ("x", "x, y")

_TEXT = """
k, 1 / 2, k:  polygamma
x, 1:  mvlgamma mvlgamma_ rot90 matrix_power
x + 2, 1:  mvlgamma mvlgamma_
1, x:  polygamma sym_max
k, l / k, 2:  bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift bitwise_and_ bitwise_or_ bitwise_xor_
    bitwise_left_shift_ bitwise_right_shift_ gcd lcm
k, l:  gcd_ lcm_ fill_ gcd lcm
k:  bitwise_not bitwise_not_
x, y, y:  addcmul addcmul_ addcdiv addcdiv_ clamp clip addmm addmm_
x, y, 0.5:  lerp lerp_ isclose allclose
x.double(), y:  float_power_
x, b, 0.5:  masked_fill masked_fill_
x, torch.ones(1):  prelu
c, 1, 2:  kthvalue topk transpose swapaxes swapdims movedim moveaxis narrow_copy select_copy transpose_copy swapaxes_ transpose_ swapdims_
c, 0, 1:  select flatten diagonal topk roll flip narrow_copy cross
c, (1,), (0,):  movedim moveaxis
c, 1, 0, 2:  narrow narrow_copy slice_scatter
c, (), ():  movedim moveaxis
x, (3, 3):  reshape broadcast_to expand view sum_to_size resize_ view_copy expand_copy new_empty new_ones new_zeros
x, (9,):  reshape view
x.mT, (9,):  reshape
x, (1, 3):  sum_to_size
one, (3, 3):  broadcast_to expand expand_copy
one, x:  expand_as
x, torch.int32 / x, torch.float32:  view
x.mT:  contiguous ravel flatten reshape_as clone
x.mT, x:  reshape_as
c, (2, 0, 1):  permute permute_copy
c, 2, (2, 2):  unflatten
x, 1:  tril triu diag diag_embed unsqueeze tensor_split squeeze diff
c, 2:  chunk split unsafe_chunk unsafe_split hsplit dsplit tensor_split unsafe_chunk chunk split_copy repeat_interleave squeeze
c, 1:  chunk split tensor_split vsplit hsplit chunk unsafe_chunk unbind unbind_copy
x, (1, 2):  split split_with_sizes unsafe_split_with_sizes split_with_sizes_copy
c.new_zeros(4, 4), 2:  vsplit hsplit vsplit
x, (2, 2), (1, 1):  as_strided as_strided_ as_strided_copy
x, torch.zeros(2, 2), (2, 2), (1, 1):  as_strided_scatter
z:  imag real conj view_as_real resolve_conj conj_physical view_as_real_copy
c:  atleast_3d mT
s:  atleast_1d atleast_2d atleast_3d squeeze T item
x, (0,):  flip sum
x, (2, 2):  tile repeat
x, 0, rows:  gather take_along_dim
x, 0, i:  index_select
x, b:  masked_select compress
x, rows:  take
x, (i,):  index
x, 0, i, y:  index_add index_copy index_add_ index_copy_
x, 0, i, 0.5:  index_fill index_fill_
x, (i,), u:  index_put index_put_
x, 0, i, y, "amax":  index_reduce index_reduce_
x, b, y:  masked_scatter masked_scatter_
x, rows, y:  put put_
x, 0, rows, y:  scatter scatter_add scatter_ scatter_add_
x, 0, rows, y, "sum":  scatter_reduce scatter_reduce_
x, u:  diagonal_scatter mv outer ger
x, u, 0, 1:  select_scatter
u, x, u:  addmv addmv_
u, u:  dot vdot outer ger inner cross
x, u, u:  addr addr_
c, t(2, 3, 5), t(2, 5, 4):  baddbmm baddbmm_
t(3, 4), t(2, 3, 5), t(2, 5, 4):  addbmm addbmm_
c, t(2, 4, 3):  bmm matmul
x @ x.mT + torch.eye(3, dtype=x.dtype):  cholesky cholesky_inverse inverse
v.long():  bincount
x, 0, 1, 0.5:  renorm renorm_
x, 2 / x, "nuc":  cond matrix_norm
x, -1:  matrix_power
x, 2:  multinomial movedim topk nonzero_static unbind sum var repeat_interleave
b, x, y:  where
b:  where nonzero argwhere
v, 3:  nonzero_static
s:  item
v.bool().any():  is_nonzero
x, torch.Tensor:  as_subclass
c, 2, 2, 1:  unfold
t(2, 3, 3):  matrix_exp pinverse
x, (3, 3), (3, 1):  new_empty_strided
x, (3, 3), 0.5:  new_full
x.to_sparse():  coalesce is_coalesced
x.to_sparse().coalesce():  values indices coalesce to_dense
x.to_sparse_csr():  crow_indices col_indices values
x, torch.float64:  to type
x, torch.float32:  to type
x, "torch.LongTensor":  type
v, lambda one, other=0, *rest: one:  apply_
v, w, lambda one, other: one:  map_
v, w, w, lambda one, other, third: one:  map2_
v, 0.5:  geometric_
[x, y]:  broadcast_tensors cat concat concatenate stack hstack vstack dstack row_stack column_stack block_diag chain_matmul
    atleast_1d atleast_2d
v, w:  meshgrid cartesian_prod
v:  cartesian_prod combinations vander
[x]:  chain_matmul cat block_diag
"ij->ij", x / "ij->ji", x / "ij,jk->ik", x, y:  einsum
t(3, 2):  view_as_complex view_as_complex_copy glu
im, 2:  channel_shuffle native_channel_shuffle pixel_shuffle pixel_unshuffle avg_pool2d max_pool2d fractional_max_pool2d
    max_pool2d_with_indices
im, (2, 1):  avg_pool2d max_pool2d
c, (1, 1):  constant_pad_nd pad
c, (0, 0):  constant_pad_nd pad
c, 2.0, 2:  lp_pool1d
im, 2.0, 2:  lp_pool2d
vol, 2.0, 2:  lp_pool3d
c, 2:  avg_pool1d max_pool1d max_pool1d_with_indices adaptive_avg_pool1d adaptive_max_pool1d glu local_response_norm
    adaptive_max_pool1d_with_indices interpolate upsample upsample_nearest
c, 4:  adaptive_avg_pool1d
c, 3:  softmax
c, 1:  avg_pool1d max_pool1d
im, (3, 3):  adaptive_avg_pool2d adaptive_max_pool2d adaptive_max_pool2d_with_indices upsample_bilinear unfold
im, (8, 8):  adaptive_avg_pool2d adaptive_max_pool2d interpolate upsample_bilinear
vol, 2:  avg_pool3d max_pool3d max_pool3d_with_indices adaptive_avg_pool3d adaptive_max_pool3d
    adaptive_max_pool3d_with_indices
im, 3, (4, 4):  fractional_max_pool2d fractional_max_pool2d_with_indices
vol, 3, (4, 4, 4):  fractional_max_pool3d fractional_max_pool3d_with_indices
t(1, 4, 9), (4, 4), (2, 2):  fold
t(1, 4, 4), torch.arange(4).reshape(1, 1, 4).expand(1, 4, 4), 1:  max_unpool1d
t(1, 4, 4, 4), torch.arange(16).reshape(1, 1, 4, 4).expand(1, 4, 4, 4), 1:  max_unpool2d
t(1, 1, 2, 2, 2), torch.arange(8).reshape(1, 1, 2, 2, 2), 1:  max_unpool3d
v, v, k[0]:  bucketize searchsorted
v, w.sort().values:  bucketize
w.sort().values, v:  searchsorted
i, (2, 3):  unravel_index
x, i:  nll_loss cross_entropy multi_margin_loss
x, rows:  multilabel_margin_loss
x, y, u:  triplet_margin_loss
x, y, y:  triplet_margin_loss triplet_margin_with_distance_loss gaussian_nll_loss margin_ranking_loss
x, y, u.sign():  cosine_embedding_loss
c, t(5, 3, 2):  conv1d
c, t(3, 5, 2):  conv_transpose1d
im, t(2, 4, 3, 3):  conv2d
im, t(4, 2, 3, 3):  conv_transpose2d
vol, t(2, 4, 3, 3, 3):  conv3d
vol, t(4, 2, 3, 3, 3):  conv_transpose3d
t(5, 2, 3), t(2, 3, 4), t(4):  conv_tbc
x, y, t(2, 3, 3):  bilinear
im, t(1, 5, 5, 2):  grid_sample
im, t(1, 5, 5, 2), 0, 0, False:  grid_sampler grid_sampler_2d
t(2, 2, 3), (2, 1, 4, 4):  affine_grid
im, 2:  group_norm
x, (3,):  layer_norm rms_norm
im:  instance_norm
rows, x:  embedding
x, rows:  embedding_bag
i:  one_hot
-x, 0.1, 0.3, True:  rrelu rrelu_
c, c, c, None, 0.5:  scaled_dot_product_attention
c, c, c:  scaled_dot_product_attention
x, 0.5, False:  dropout alpha_dropout feature_alpha_dropout feature_dropout
x, 0.5, True:  dropout alpha_dropout native_dropout dropout_ alpha_dropout_
c, 0.5, True:  feature_dropout feature_alpha_dropout dropout1d feature_dropout_ feature_alpha_dropout_
im, 0.5, True:  dropout2d
vol, 0.5, True:  dropout3d
x, 0.5, 0.1:  threshold threshold_
v, v:  complex polar
3, 3:  eye ones zeros empty rand randn tril_indices triu_indices
4:  arange rand randn randperm hann_window hamming_window blackman_window bartlett_window kaiser_window
0, 4, (3,):  randint
0, 4, 5:  linspace logspace
0, 4:  range
(2, 2), 0.5:  full
(2, 3), (3, 1):  empty_strided
(2, 3), (1, 0):  empty_permuted
x, 3:  randint_like
2.0:  scalar_tensor tensor as_tensor
v.detach().numpy():  from_numpy as_tensor asarray
x, torch.float32:  as_tensor
x, -1:  cumsum softmax
"""


def _read() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    forms: list[str] = []
    for line in _TEXT.strip().splitlines():
        names = line
        if not line.startswith(" "):
            text, _, names = line.rpartition(":  ")
            forms = text.split(" / ")
        for name in names.split():
            found.setdefault(name, []).extend(form for form in forms if form not in found.get(name, ()))
    return {name: tuple(forms) for name, forms in found.items()}


RECIPES = _read()


def forms_of(one: Operator) -> tuple[str, ...]:
    """How to call an operator: as those of its form are called, and as it is written here.

    What takes ``inplace`` may take it as second, which is then no operand.
    """
    usual = ("x",) if one.inplace else USUAL.get(one.form, OTHERWISE)
    return (*usual, *RECIPES.get(one.name, ()))
