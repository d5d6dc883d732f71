"""A study is a document; a plan is its expansion into trials; a run store keeps what was measured."""
