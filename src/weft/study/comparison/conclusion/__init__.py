"""What a whole study answers: the sentence, where an effect begins, anomalies, threats."""
