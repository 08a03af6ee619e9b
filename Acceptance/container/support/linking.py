"""What a binary loads at its start, and what it exports to the libraries that it loads."""
import re
import subprocess

from lib.measure import Failed

# The loader binds what libc also defines: open(2) is replaced for libdispatch, and the streams are copied.
EXPORTED = {"open", "stdin", "stdout", "stderr"}


def expect_linked(binary, libraries):
    """Checks that a binary loads the C library and `libraries`, and that it exports no name of a library in it."""
    dynamic = subprocess.run(["readelf", "-d", binary], capture_output=True, text=True, check=True).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    others = {name for name in needed if not re.match(r"(libc|libm|ld-linux[\w-]*)\.so", name)}
    if others != set(libraries):
        raise Failed(f"{binary} loads {sorted(others)}")
    symbols = subprocess.run(["nm", "-D", "--defined-only", binary], capture_output=True, text=True, check=True).stdout
    exported = {line.split()[-1].split("@")[0] for line in symbols.splitlines()}
    if not exported <= EXPORTED:
        raise Failed(f"{binary} exports {sorted(exported - EXPORTED)[:10]}")
