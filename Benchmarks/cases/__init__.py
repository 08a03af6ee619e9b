"""The cases by name, in the order of `Benchmarks/run --only NAME,…`. Each module tests one idea."""
from cases import (adaptive, corrupt, expiring, frozen, interrupted, limit, limited, many, memory, plain, refusing, streams,
                   uneven)

CASES = {
    "http": plain.http,
    "https": plain.https,
    "limited": limited.no_flags,
    "limited-known": limited.known_host,
    "limited-weak": limited.weak_names,
    "limited16": limited.sixteen,
    "uneven": uneven.run,
    "frozen": frozen.run,
    "adaptive": adaptive.http,
    "adaptive-https": adaptive.https,
    "small": plain.small,
    "many": many.run,
    "interrupted": interrupted.run,
    "refusing": refusing.run,
    "corrupt": corrupt.run,
    "expiring": expiring.run,
    "limit": limit.run,
    "memory": memory.run,
    "segments": streams.small,
    "film": streams.film,
    "film-aes": streams.aes,
}
