"""From a study of algorithms to the files by which a library takes the best ones."""
