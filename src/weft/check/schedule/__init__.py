"""The rounds of a check and their cost: pairs from a scheme, a fabric and a budget."""
