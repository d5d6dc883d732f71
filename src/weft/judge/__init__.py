"""Judging a result file: is each row normal, and if not, which cause fits best?"""
