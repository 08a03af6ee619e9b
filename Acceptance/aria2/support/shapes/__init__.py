"""Requests for everything that clients of aria2 may notice, in the same states of any program with the protocol."""
