"""The page of `weft fabric show --report`: matrices of cables, a drawing, loads."""
