"""The files of an image, and a host's mounted over them."""
