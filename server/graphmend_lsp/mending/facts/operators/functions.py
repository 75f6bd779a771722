"""What only `torch` has as a function, not a tensor as a method. Read by `operator.read`."""

FUNCTIONS = """
[elementwise float floats]
celu selu
[elementwise]
complex polar
[elementwise same]
alias_copy detach_copy threshold
[elementwise same effect self]
threshold_
[elementwise float effect self]
celu_ selu_
[elementwise promoted]
rsub
[elementwise same]
fill
[layout bool]
isin                                # each element is looked for among all of the other operand

[float]
cdist
[reduction float]
frobenius_norm
[reduction float raises]
nuclear_norm
[reduction tensors float]
std_mean var_mean
[float]
norm_except_dim
[reduction]
binary_cross_entropy_with_logits cosine_embedding_loss hinge_embedding_loss kl_div margin_ranking_loss
poisson_nll_loss triplet_margin_loss
[raises]
ctc_loss
[float]
cosine_similarity pairwise_distance pdist trapezoid trapz cumulative_trapezoid
[tensors float]
gradient

[layout view]
view_as_complex view_as_real
[layout tensors maybe same]
broadcast_tensors meshgrid
[layout maybe same]
atleast_1d atleast_2d atleast_3d cartesian_prod
[maybe]
einsum
[layout maybe promoted]             # of one tensor too
chain_matmul
[layout promoted]
cat concat concatenate stack hstack vstack dstack row_stack column_stack block_diag
[layout same]
channel_shuffle native_channel_shuffle pixel_shuffle pixel_unshuffle constant_pad_nd combinations
as_strided_copy diagonal_copy expand_copy permute_copy select_copy slice_copy squeeze_copy t_copy transpose_copy
unfold_copy unsqueeze_copy view_copy
indices_copy values_copy ccol_indices_copy crow_indices_copy col_indices_copy row_indices_copy
[layout]
view_as_complex_copy view_as_real_copy
[layout tensors same]
split_copy split_with_sizes_copy unbind_copy

[promoted]

tensordot dsmm hsmm hspmm spmm saddmm
[unknown]
vander
[int64]
bucketize searchsorted
[tensors int64 raises]
unravel_index
[tensors raises random]
lobpcg
[tensors raises]
lu_unpack
[tensors float random]
pca_lowrank svd_lowrank
[raises]
matrix_rank

[same]
avg_pool1d adaptive_avg_pool1d max_pool1d max_pool2d max_pool3d
[tensors same]
adaptive_max_pool1d max_pool1d_with_indices
[unknown]
bilinear conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution
affine_grid_generator grid_sampler grid_sampler_2d grid_sampler_3d
[same floats keeps]
group_norm layer_norm rms_norm
[same keeps effect]                 # running statistics
batch_norm instance_norm
[tensors effect]
native_batch_norm
[tensors]
native_group_norm native_layer_norm
[float]
native_norm
[raises]
embedding segment_reduce
[raises tensors]
embedding_bag
[self effect raises]
embedding_renorm_
[tensors]
gru_cell lstm_cell
[unknown]
rnn_relu_cell rnn_tanh_cell
[tensors random]                    # dropout between the layers
gru lstm rnn_relu rnn_tanh

[random maybe same keeps]
alpha_dropout dropout feature_alpha_dropout feature_dropout
[random tensors maybe]
native_dropout
[random self same effect]
alpha_dropout_ dropout_ feature_alpha_dropout_ feature_dropout_ rrelu_
[random float]
rrelu
[random]
binomial normal poisson
[random makes float nonnegative]
rand
[random makes float]
randn
[random makes int64]
randint randperm
[random makes same floats]
rand_like randn_like
[random makes same]
randint_like
[makes float raises]                # for sizes below zero
bartlett_window blackman_window hamming_window hann_window kaiser_window
empty empty_permuted empty_strided linspace logspace
[makes float nonnegative raises]
eye ones zeros
[makes argument raises]
full arange range
[makes int64 nonnegative raises]
tril_indices triu_indices
[makes same]
empty_like full_like ones_like zeros_like
[cut argument]
tensor
[argument]
scalar_tensor
[argument maybe]
as_tensor asarray
[maybe cut]
from_dlpack from_numpy frombuffer
[effect]
from_file
[unknown raises]
sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor
empty_quantized quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic choose_qparams_optimized
fake_quantize_per_channel_affine fake_quantize_per_tensor_affine
[effect]
fused_moving_avg_obs_fake_quant
[raises tensors]
histogramdd

[elementwise self same effect]
fill_ zero_
[self same effect]
addmv_ as_strided_
[self same cut effect]
detach_
[self same effect raises]
index_put_
[self effect]
resize_as_ resize_as_sparse_
[object]
broadcast_shapes can_cast promote_types result_type typename get_file_path get_device_module
get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype get_autocast_ipu_dtype get_autocast_xla_dtype
get_default_device get_default_dtype get_deterministic_debug_mode get_float32_matmul_precision get_num_interop_threads
get_num_threads initial_seed compiled_with_cxx11_abi
[object maybe]
to_dlpack
[argument]
get_rng_state
[flag]
is_storage is_tensor is_grad_enabled is_inference_mode_enabled is_vulkan_available is_warn_always_enabled
are_deterministic_algorithms_enabled is_deterministic_algorithms_warn_only_enabled
is_anomaly_check_nan_enabled is_anomaly_enabled is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled
is_autocast_ipu_enabled is_autocast_xla_enabled cudnn_is_acceptable
[number]
sym_float sym_int sym_max sym_min sym_not sym_sqrt sym_fresh_size
[maybe]
sym_ite sym_sum
[none raises]
sym_constrain_range sym_constrain_range_for_size
[object effect]                     # runs what it is given, or gives something that does
compile cond while_loop vmap fork wait
[object effect]
autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache init_num_threads manual_seed seed
set_anomaly_enabled set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_dtype
set_autocast_enabled set_autocast_gpu_dtype set_autocast_ipu_dtype set_autocast_ipu_enabled set_autocast_xla_dtype
set_autocast_xla_enabled set_default_device set_default_dtype set_default_tensor_type set_deterministic_debug_mode
set_float32_matmul_precision set_flush_denormal set_num_interop_threads set_num_threads set_printoptions
set_rng_state set_warn_always use_deterministic_algorithms load save prepare_multiprocessing_environment
import_ir_module import_ir_module_from_buffer
"""
