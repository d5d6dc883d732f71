"""What is measured, and what it costs: rounds of pairs from a scheme, a fabric and a budget."""
