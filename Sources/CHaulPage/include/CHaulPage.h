// The files of the page and the description of the API: a table of bytes inside the binary. A request is answered from it by
// exact key, so that no path from outside reaches a file.
#pragma once

#include <stddef.h>

typedef struct {
    // Path below the page's own folder; index.html for the page itself.
    const char *path;
    // Media type.
    const char *type;
    const unsigned char *bytes;
    size_t count;
} haul_page_asset;

// The assets in no particular order.
const haul_page_asset *haul_page_assets(void);
size_t haul_page_asset_count(void);
