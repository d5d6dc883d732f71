"""What a machine's own recipe gets wrong, as its errata say."""

RECIPE_ERRATA = {
    ("frontera", "sharp-full-nodes"): "MV2_ENABLE_SHARP",
    ("azure-ndv5", "chunk-cut"): "NCCL_P2P_NET_CHUNKSIZE",
    ("azure-ndv6", "chunk-cut"): "NCCL_P2P_NET_CHUNKSIZE",
}
"""(recipe, rule): the variable, which an erratum names."""
