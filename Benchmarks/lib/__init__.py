"""Code that the cases share: servers, measurements, results and their output."""
