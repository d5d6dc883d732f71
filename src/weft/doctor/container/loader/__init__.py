"""The dynamic loader of an image: libraries as ld.so finds them."""
