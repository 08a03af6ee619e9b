// Written by Scripts/embedded-files.
#include "CHaulFleetSchema.h"

// #embed is C23; the compiler has it in every mode.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char asset_0[] = {
#embed "schema/function-settings.sql"
};
static const unsigned char asset_1[] = {
#embed "schema/functions/administration.sql"
};
static const unsigned char asset_2[] = {
#embed "schema/functions/cancellation.sql"
};
static const unsigned char asset_3[] = {
#embed "schema/functions/claim.sql"
};
static const unsigned char asset_4[] = {
#embed "schema/functions/destination.sql"
};
static const unsigned char asset_5[] = {
#embed "schema/functions/feed.sql"
};
static const unsigned char asset_6[] = {
#embed "schema/functions/hosts.sql"
};
static const unsigned char asset_7[] = {
#embed "schema/functions/loading.sql"
};
static const unsigned char asset_8[] = {
#embed "schema/functions/lost-workers.sql"
};
static const unsigned char asset_9[] = {
#embed "schema/functions/maintenance.sql"
};
static const unsigned char asset_10[] = {
#embed "schema/functions/report.sql"
};
static const unsigned char asset_11[] = {
#embed "schema/functions/shards.sql"
};
static const unsigned char asset_12[] = {
#embed "schema/functions/workers.sql"
};
static const unsigned char asset_13[] = {
#embed "schema/grants/loader.sql"
};
static const unsigned char asset_14[] = {
#embed "schema/grants/reader.sql"
};
static const unsigned char asset_15[] = {
#embed "schema/grants/worker.sql"
};
static const unsigned char asset_16[] = {
#embed "schema/migrations/001-tables.sql"
};
static const unsigned char asset_17[] = {
#embed "schema/migrations/002-destination-mark.sql"
};
static const unsigned char asset_18[] = {
#embed "schema/migrations/003-start-times.sql"
};
static const unsigned char asset_19[] = {
#embed "schema/migrations/004-suspects.sql"
};
static const unsigned char asset_20[] = {
#embed "schema/migrations/005-passed-items.sql"
};
static const unsigned char asset_21[] = {
#embed "schema/migrations/006-paused-hosts.sql"
};
static const unsigned char asset_22[] = {
#embed "schema/migrations/007-shards.sql"
};
static const unsigned char asset_23[] = {
#embed "schema/migrations/008-cancellations.sql"
};
static const unsigned char asset_24[] = {
#embed "schema/migrations/009-mirrors.sql"
};
static const unsigned char asset_25[] = {
#embed "schema/migrations/010-chunks.sql"
};
static const unsigned char asset_26[] = {
#embed "schema/migrations/011-contents.sql"
};
static const unsigned char asset_27[] = {
#embed "schema/migrations/012-packed-files.sql"
};
static const unsigned char asset_28[] = {
#embed "schema/migrations/013-validators.sql"
};
static const unsigned char asset_29[] = {
#embed "schema/migrations/014-destination-settings.sql"
};

static const haul_schema_asset assets[] = {
    {"function-settings.sql", asset_0, sizeof(asset_0)},
    {"functions/administration.sql", asset_1, sizeof(asset_1)},
    {"functions/cancellation.sql", asset_2, sizeof(asset_2)},
    {"functions/claim.sql", asset_3, sizeof(asset_3)},
    {"functions/destination.sql", asset_4, sizeof(asset_4)},
    {"functions/feed.sql", asset_5, sizeof(asset_5)},
    {"functions/hosts.sql", asset_6, sizeof(asset_6)},
    {"functions/loading.sql", asset_7, sizeof(asset_7)},
    {"functions/lost-workers.sql", asset_8, sizeof(asset_8)},
    {"functions/maintenance.sql", asset_9, sizeof(asset_9)},
    {"functions/report.sql", asset_10, sizeof(asset_10)},
    {"functions/shards.sql", asset_11, sizeof(asset_11)},
    {"functions/workers.sql", asset_12, sizeof(asset_12)},
    {"grants/loader.sql", asset_13, sizeof(asset_13)},
    {"grants/reader.sql", asset_14, sizeof(asset_14)},
    {"grants/worker.sql", asset_15, sizeof(asset_15)},
    {"migrations/001-tables.sql", asset_16, sizeof(asset_16)},
    {"migrations/002-destination-mark.sql", asset_17, sizeof(asset_17)},
    {"migrations/003-start-times.sql", asset_18, sizeof(asset_18)},
    {"migrations/004-suspects.sql", asset_19, sizeof(asset_19)},
    {"migrations/005-passed-items.sql", asset_20, sizeof(asset_20)},
    {"migrations/006-paused-hosts.sql", asset_21, sizeof(asset_21)},
    {"migrations/007-shards.sql", asset_22, sizeof(asset_22)},
    {"migrations/008-cancellations.sql", asset_23, sizeof(asset_23)},
    {"migrations/009-mirrors.sql", asset_24, sizeof(asset_24)},
    {"migrations/010-chunks.sql", asset_25, sizeof(asset_25)},
    {"migrations/011-contents.sql", asset_26, sizeof(asset_26)},
    {"migrations/012-packed-files.sql", asset_27, sizeof(asset_27)},
    {"migrations/013-validators.sql", asset_28, sizeof(asset_28)},
    {"migrations/014-destination-settings.sql", asset_29, sizeof(asset_29)},
};

const haul_schema_asset *haul_schema_assets(void) { return assets; }
size_t haul_schema_asset_count(void) { return sizeof(assets) / sizeof(assets[0]); }
