"""Cables that carry no traffic, and the messages that meet because of them."""
