"""Requests that a daemon should refuse. Each case is a function or a line, with its outcome."""
