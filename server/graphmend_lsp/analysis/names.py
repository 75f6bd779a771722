"""Facts about names of torch and Python, as data: what a function, method or attribute gives, measured on torch 2.13.

Only tables and look-ups in them; nothing here sees a program.
"""

from __future__ import annotations

from graphmend_lsp.analysis.kinds import INTEGER, LAYER, MASK, PYTHON, TENSOR, TENSORS, UNKNOWN, Kind


def words(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


# Attributes and methods of a tensor that give Python values.
PYTHON_ATTRIBUTES = words(
    "shape dtype device ndim is_cuda requires_grad names layout itemsize nbytes is_leaf grad_fn is_sparse "
    "is_quantized is_meta is_mps is_cpu is_xpu is_mkldnn is_nested output_nr name retains_grad volatile "
    "is_sparse_csr"
)
TENSOR_ATTRIBUTES = words("T mT H mH data grad real imag")
PYTHON_METHODS = words(
    "size dim numel nelement ndimension stride storage_offset is_contiguous is_floating_point is_complex "
    "is_signed get_device data_ptr element_size item tolist is_pinned has_names is_shared is_set_to is_same_size "
    "register_hook backward storage untyped_storage is_inference is_nonzero equal allclose is_conj is_neg "
    "is_coalesced sparse_dim dense_dim dim_order has_tensor_subclass_storage"
)
UNKNOWN_METHODS = words("numpy apply_ map_ __array__ to_dlpack type module_load __reduce_ex__ __class__ __len__")
MASK_METHODS = words(
    "bool isnan isinf isfinite eq ne lt le gt ge equal_ logical_and logical_or logical_not logical_xor any all "
    "isclose isin isposinf isneginf isreal signbit greater greater_equal less less_equal not_equal"
)
INTEGER_METHODS = words("int long short argmax argmin argsort nonzero bincount count_nonzero argwhere searchsorted")
SEQUENCE_METHODS = words(
    "chunk split unbind tensor_split split_with_sizes hsplit vsplit dsplit sort topk kthvalue cummax cummin qr "
    "svd slogdet aminmax frexp lu geqrf triangular_solve unsafe_chunk unsafe_split"
)
# One tensor without a dimension, a (values, indices) pair with one.
REDUCING = words("max min median nanmedian mode")

# torch.<name> that are no tensors (besides everything that starts with is_, set_ and get_).
PYTHON_FUNCTIONS = words(
    "numel finfo iinfo equal allclose device Size no_grad enable_grad inference_mode autocast typename can_cast "
    "broadcast_shapes are_deterministic_algorithms_enabled use_deterministic_algorithms manual_seed seed "
    "initial_seed save compile dtype Generator Stream Event result_type promote_types float16 float32 float64 "
    "bfloat16 half float double int8 int16 int32 int64 int long short bool uint8 complex64 complex128 strided "
    "sparse_coo channels_last contiguous_format preserve_format inf nan pi e newaxis"
)
SEQUENCE_FUNCTIONS = SEQUENCE_METHODS | words(
    "meshgrid broadcast_tensors std_mean var_mean atleast_1d atleast_2d atleast_3d block_split lstm gru rnn_tanh "
    "lobpcg svd_lowrank pca_lowrank unravel_index"
)
UNKNOWN_FUNCTIONS = words(
    "load vmap func_call autograd jit classes ops library hub package fx export cond while_loop scan"
)
MASK_FUNCTIONS = MASK_METHODS
INTEGER_FUNCTIONS = INTEGER_METHODS | words("randint randperm bucketize tril_indices triu_indices")
# Sub-namespaces of torch whose functions give one tensor each, and the exceptions.
TENSOR_NAMESPACES = words("torch.nn.functional torch.fft torch.special torch.nn.init torch.Tensor")
LINALG_TENSORS = words(
    "norm vector_norm matrix_norm det inv pinv matmul multi_dot cross cholesky solve eigvals eigvalsh svdvals "
    "cond diagonal matrix_exp matrix_power matrix_rank tensorinv vander vecdot ldl_solve lu_solve "
    "solve_triangular householder_product"
)
FUNCTIONAL_SEQUENCES = words(
    "multi_head_attention_forward max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices "
    "adaptive_max_pool1d_with_indices adaptive_max_pool2d_with_indices fractional_max_pool2d_with_indices"
)
EINOPS = words("einops.rearrange einops.reduce einops.repeat einops.einsum")

# torch.nn classes whose call does not give one tensor.
MANY_RESULTS = words("LSTM GRU RNN RNNBase LSTMCell MultiheadAttention AdaptiveLogSoftmaxWithLoss Module DataParallel")
CONTAINERS = words("ModuleList ParameterList")

# Methods and attributes that only a tensor has: an un-annotated parameter used so is one.
TELLING_ATTRIBUTES = words("shape ndim")
TELLING_METHODS = words(
    "size dim numel view view_as reshape reshape_as permute transpose contiguous unsqueeze squeeze expand "
    "expand_as flatten sum mean max min abs sqrt rsqrt exp pow masked_fill masked_fill_ masked_select clamp "
    "clamp_min clamp_max softmax log_softmax sigmoid tanh relu matmul bmm mm chunk cumsum cumprod argmax argmin "
    "norm std var new_zeros new_ones new_full new_tensor type_as detach nonzero gather scatter scatter_ "
    "scatter_add any all item tolist unbind topk sin cos log log2 isnan isinf unfold repeat_interleave mul add "
    "sub div mul_ add_ sub_ div_ copy_ t index_select amax amin sign floor ceil round square prod logsumexp "
    "diagonal tril triu roll flip narrow bool long clone int numpy"
)

# Methods that nothing but a tensor (or a NumPy array, which Dynamo traces as one) has in a model's code: a value of
# which nothing else is known is a tensor where one of these is called.
SURE_METHODS = words(
    "sum mean std var any all abs argmax argmin unsqueeze squeeze masked_fill masked_fill_ masked_select permute "
    "contiguous clamp clamp_min clamp_max softmax log_softmax sigmoid tanh relu matmul bmm cumsum cumprod expand "
    "expand_as view_as reshape isnan isinf nonzero scatter_ scatter_add index_select new_zeros new_ones type_as "
    "detach item numel logsumexp amax amin repeat_interleave sqrt rsqrt norm chunk unbind view transpose flatten"
)

PYTHON_BUILTINS = words(
    "len isinstance issubclass hasattr callable id hash type str repr int float bool format ord chr range print "
    "input any all divmod bin hex oct vars dir"
)

# Names that are false while Dynamo traces, and names that are true.
FALSE_WHILE_TRACING = words(
    "torch.jit.is_scripting torch.jit.is_tracing torch.onnx.is_in_onnx_export "
    "torch.fx._symbolic_trace.is_fx_tracing typing.TYPE_CHECKING"
)
TRUE_WHILE_TRACING = words(
    "torch.compiler.is_compiling torch.compiler.is_dynamo_compiling torch._dynamo.is_compiling "
    "torch._dynamo.external_utils.is_compiling transformers.utils.is_torchdynamo_compiling builtins.__debug__"
)


def is_guard_name(name: str) -> bool | None:
    """The value of a call of `name` (or of the name itself) while Dynamo traces, None when it is not fixed."""
    if name in FALSE_WHILE_TRACING:
        return False
    if name in TRUE_WHILE_TRACING or name.endswith((".is_torchdynamo_compiling", ".is_dynamo_compiling")):
        return True
    return None


def of_dtype(name: str) -> Kind | None:
    """The kind of a tensor of the dtype with this dotted name."""
    if name in ("torch.bool", "builtins.bool"):
        return MASK
    if name in ("torch.long", "torch.int", "torch.int64", "torch.int32", "torch.int16", "torch.int8", "torch.uint8"):
        return INTEGER
    return TENSOR if name.startswith("torch.") else None


def torch_call(name: str) -> Kind:
    """What a call of the dotted name under ``torch`` gives, by name alone."""
    namespace, _, last = name.rpartition(".")
    if namespace == "torch":
        if last in MASK_FUNCTIONS:
            return MASK
        if last in INTEGER_FUNCTIONS:
            return INTEGER
        if last in SEQUENCE_FUNCTIONS:
            return TENSORS
        if last in PYTHON_FUNCTIONS or last.startswith(("is_", "set_", "get_", "_")):
            return PYTHON
        if last in UNKNOWN_FUNCTIONS:
            return UNKNOWN
        return TENSOR if last.islower() or last.endswith("Tensor") else UNKNOWN
    if namespace == "torch.nn.functional":
        return TENSORS if last in FUNCTIONAL_SEQUENCES else TENSOR
    if namespace in TENSOR_NAMESPACES:
        return TENSOR
    if namespace == "torch.linalg":
        return TENSOR if last in LINALG_TENSORS else UNKNOWN
    if name in ("torch.nn.Parameter", "torch.nn.parameter.Parameter", "torch.nn.Buffer", "torch.nn.parameter.Buffer"):
        return TENSOR
    if name.startswith("torch.nn."):
        return nn_class(last)
    if name.startswith(("torch.cuda.", "torch.distributed.", "torch.backends.", "torch.compiler.", "torch.jit.is_")):
        return PYTHON
    return UNKNOWN


def nn_class(last: str) -> Kind:
    """An instance of the class torch.nn.<last>."""
    if not last[:1].isupper() or last in MANY_RESULTS:
        return UNKNOWN
    return LAYER


def tensor_method(method: str, receiver: Kind) -> Kind:
    """What `receiver.method(...)` gives, by name alone, for a tensor."""
    if method in PYTHON_METHODS:
        return PYTHON
    if method in MASK_METHODS:
        return MASK
    if method in INTEGER_METHODS:
        return INTEGER
    if method in SEQUENCE_METHODS:
        return Kind("seq", "", (receiver,))
    if method in UNKNOWN_METHODS or method.startswith("__"):
        return UNKNOWN
    if method in (
        "float",
        "double",
        "half",
        "bfloat16",
        "sum",
        "mean",
        "softmax",
        "to",
        "type_as",
        "new_tensor",
        "cumsum",
    ):
        return TENSOR
    if method.startswith(("new_", "register_")):
        return TENSOR if method.startswith("new_") else PYTHON
    return receiver


def tensor_attribute(name: str, receiver: Kind) -> Kind:
    """What `receiver.name` gives for a tensor."""
    if name in PYTHON_ATTRIBUTES:
        return PYTHON
    return receiver if name in TENSOR_ATTRIBUTES else UNKNOWN
