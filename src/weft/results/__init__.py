"""Readers for what the field's tools print: one schema out, by content, noise tolerated."""
