"""The reader of tables that somebody wrote in Markdown."""
