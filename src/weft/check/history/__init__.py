"""A check as a row of a history: its components, judged once and kept."""
