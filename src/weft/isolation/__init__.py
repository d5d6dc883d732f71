"""Tenants of a shared fabric, and the settings of its subnet manager that keep them apart."""
