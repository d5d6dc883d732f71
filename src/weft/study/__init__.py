"""A study is a document; a plan its expansion into launches; a store keeps the samples."""
