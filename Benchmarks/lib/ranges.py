"""Evaluates a request for a file: status and range of the answer. A pure function of RFC 9110, sections 13 and 14."""
import re


def answer(headers, size, tag):
    """Returns (status, first, end) with an exclusive `end`. `headers` needs a method `get`."""
    if_match = headers.get("If-Match")
    if if_match is not None and if_match.strip() != "*" and tag not in [each.strip() for each in if_match.split(",")]:
        return 412, 0, 0
    asked = headers.get("Range")
    if asked is None or headers.get("If-Range", tag).strip() != tag:
        return 200, 0, size
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", asked.replace(" ", ""))
    if not match or match.groups() == ("", ""):
        return 200, 0, size  # several ranges, or an invalid one: a server may ignore them
    first, last = match.groups()
    if first == "":
        return (206, max(0, size - int(last)), size) if int(last) > 0 else (416, 0, 0)
    if int(first) >= size:
        return 416, 0, 0
    if last == "":
        return 206, int(first), size
    if int(last) < int(first):
        return 200, 0, size
    return 206, int(first), min(int(last) + 1, size)
