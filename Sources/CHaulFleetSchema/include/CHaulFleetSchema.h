// The SQL files of a queue's schema: a table of bytes inside the binary.
#pragma once

#include <stddef.h>

typedef struct {
    // Path below the folder `schema`.
    const char *path;
    const unsigned char *bytes;
    size_t count;
} haul_schema_asset;

// The files in the order of their paths.
const haul_schema_asset *haul_schema_assets(void);
size_t haul_schema_asset_count(void);
