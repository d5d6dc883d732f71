"""How a verdict is said: findings, words, remedies, lists."""
