"""Documents about communication libraries: variables, rules, recipes, constants."""
