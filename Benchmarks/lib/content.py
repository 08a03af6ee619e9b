"""Files of random bytes, and the check of a copy."""
import os
import random

from lib.measure import Failed

MIB = 1 << 20


def write_random(path, size):
    """Writes the same bytes for the same name and size. No two MiB are equal, so a misplaced one is noticed."""
    chance = random.Random(os.path.basename(path))
    with open(path, "wb") as file:
        for start in range(0, size, MIB):
            file.write(chance.randbytes(min(MIB, size - start)))


def read_through(path):
    """Reads a file into the page cache."""
    with open(path, "rb") as file:
        while file.read(MIB):
            pass


def expect_same(path, original):
    """Compares two files byte by byte and raises `Failed` if they differ."""
    with open(path, "rb") as mine, open(original, "rb") as theirs:
        while True:
            block = mine.read(MIB)
            if block != theirs.read(MIB):
                raise Failed(f"{os.path.basename(path)} has wrong bytes, or too few or many")
            if not block:
                return
