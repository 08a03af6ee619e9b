"""Code that the programs with sets share."""
import os
import sys

sys.dont_write_bytecode = True
ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
BUILD = os.path.join(ROOT, ".build")
HAUL = os.path.join(BUILD, "release", "haul")  # the program under test unless --binary names another one
os.makedirs(BUILD, exist_ok=True)
sys.path.insert(0, os.path.join(ROOT, "Benchmarks"))  # for Benchmarks/lib
