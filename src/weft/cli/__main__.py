"""`python -m weft.cli`: the program by its interpreter, as jobs of a scheduler start it."""

from weft.cli import main

main()
