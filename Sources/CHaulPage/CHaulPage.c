// #embed is C23; the compiler has it in every mode.
#pragma clang diagnostic ignored "-Wc23-extensions"

#include "CHaulPage.h"

static const unsigned char index_html[] = {
#embed "page/index.html"
};
static const unsigned char openapi_json[] = {
#embed "openapi.json"
};

#define ASSET(path, type, name) {path, type, name, sizeof(name)}

static const haul_page_asset assets[] = {
    ASSET("index.html", "text/html; charset=utf-8", index_html),
    ASSET("openapi.json", "application/json", openapi_json),
};

const haul_page_asset *haul_page_assets(void) { return assets; }
size_t haul_page_asset_count(void) { return sizeof(assets) / sizeof(assets[0]); }
