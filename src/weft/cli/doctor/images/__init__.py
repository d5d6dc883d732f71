"""`weft doctor container`: the image and its launch, the remedy, the words."""
