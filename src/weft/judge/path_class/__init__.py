"""What kind of path a result file measured, from its rows and its own words."""
