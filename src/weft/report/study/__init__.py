"""The page of a study: the map of verdicts, speed-up curves, anomalies, threats to validity."""
