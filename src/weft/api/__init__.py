"""The functions behind `import weft`, which the command line calls too."""
