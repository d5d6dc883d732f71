"""Vega-Lite charts of measured and expected values."""
