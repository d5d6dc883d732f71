"""Rules over how switches and hosts are cabled."""
