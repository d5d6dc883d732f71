"""Device files of a container as options and documents name them."""


def passed_device(text: str) -> str:
    """Of `SOURCE[:TARGET[:PERMISSIONS]]` the absolute path that is the same on the host and in the
    container; "" where there is none."""
    source, _, left = text.partition(":")
    target = left.partition(":")[0]
    is_moved = target.startswith("/") and target != source
    return source.rstrip("/") if source.startswith("/") and not is_moved else ""
