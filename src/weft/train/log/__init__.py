"""Steps of training logs: the steady state, stragglers, throughput, two logs compared."""
