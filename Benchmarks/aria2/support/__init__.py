"""Code that the trials with aria2's clients share."""

import os
import sys

sys.dont_write_bytecode = True
BENCHMARKS = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.path.join(os.path.dirname(BENCHMARKS), ".build")
sys.path.insert(0, BENCHMARKS)  # for Benchmarks/lib
