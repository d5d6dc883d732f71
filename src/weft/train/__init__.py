"""What a step of training costs: FLOPs, memory, communication, layouts."""
