"""Steps of training on a twin: their exchanges priced, and written as a schedule."""
