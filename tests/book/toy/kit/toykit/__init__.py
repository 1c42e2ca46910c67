"""A package for the toy book's cells, small enough to be changed by a test."""
