"""Lines, numbers and JSON documents in the bytes of a log: what every reader rests on."""
