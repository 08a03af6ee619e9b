"""Code that runs the container image without an engine, by the OCI runtime crun."""
import os
import sys

sys.dont_write_bytecode = True
ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
BUILD = os.path.join(ROOT, ".build")
os.makedirs(BUILD, exist_ok=True)
sys.path.insert(0, os.path.join(ROOT, "Benchmarks"))  # for Benchmarks/lib
