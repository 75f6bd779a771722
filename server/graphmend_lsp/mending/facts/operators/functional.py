"""What `torch.nn.functional` has. Read by `operator.read`; a name that `torch` has too may differ here (``inplace=``)."""

FUNCTIONAL = """
[elementwise float inplace floats]
celu elu hardswish leaky_relu mish selu silu
[elementwise float inplace floats nonnegative]
hardsigmoid
[elementwise same inplace]
hardtanh threshold
[elementwise same inplace nonnegative]
relu relu6
[elementwise float floats]
gelu hardshrink logsigmoid softshrink
[elementwise float floats nonnegative]
softplus
[elementwise float nonnegative]
sigmoid
[elementwise float]
softsign tanh tanhshrink
[elementwise]
prelu
[elementwise self same effect]
celu_ elu_ hardtanh_ leaky_relu_ relu_ selu_ threshold_
[scan float floats]
log_softmax
[scan float floats nonnegative]
softmax softmin
[float floats]
glu
[float floats keeps]
normalize
[float keeps]
local_response_norm
[same floats keeps]
group_norm layer_norm rms_norm
[same keeps effect]                 # running statistics
batch_norm instance_norm

[random float inplace]
rrelu
[random self same effect]
rrelu_
[random maybe same inplace keeps]
alpha_dropout dropout dropout1d dropout2d dropout3d feature_alpha_dropout
[random float keeps]
gumbel_softmax
[random same]
fractional_max_pool2d fractional_max_pool3d
[random tensors same]
fractional_max_pool2d_with_indices fractional_max_pool3d_with_indices
[random unknown]                    # with dropout_p
scaled_dot_product_attention
[random tensors]
multi_head_attention_forward

[reduction]
cosine_embedding_loss gaussian_nll_loss hinge_embedding_loss huber_loss kl_div l1_loss
margin_ranking_loss mse_loss multilabel_soft_margin_loss poisson_nll_loss smooth_l1_loss soft_margin_loss
triplet_margin_loss triplet_margin_with_distance_loss binary_cross_entropy_with_logits
[reduction raises]
binary_cross_entropy cross_entropy multi_margin_loss multilabel_margin_loss nll_loss
[raises]
ctc_loss linear_cross_entropy
[float]
cosine_similarity pairwise_distance pdist

[same]
adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d avg_pool1d avg_pool2d avg_pool3d
adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d max_pool1d max_pool2d max_pool3d
interpolate upsample upsample_bilinear upsample_nearest
[float]
lp_pool1d lp_pool2d lp_pool3d
[tensors same]
adaptive_max_pool1d_with_indices adaptive_max_pool2d_with_indices adaptive_max_pool3d_with_indices
max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices
[same raises]
max_unpool1d max_unpool2d max_unpool3d
[layout same]
channel_shuffle native_channel_shuffle pixel_shuffle pixel_unshuffle pad unfold fold
[raises]
embedding                           # max_norm= changes the weight
embedding_bag
[int64 nonnegative raises]
one_hot
[unknown]
affine_grid grid_sample bilinear linear
conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d
grouped_mm scaled_mm scaled_grouped_mm
"""
