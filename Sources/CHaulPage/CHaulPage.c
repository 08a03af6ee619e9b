// Written by Scripts/embedded-files.
#include "CHaulPage.h"

// #embed is C23; the compiler has it in every mode.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char asset_0[] = {
#embed "page/app/add.js"
};
static const unsigned char asset_1[] = {
#embed "page/app/api.js"
};
static const unsigned char asset_2[] = {
#embed "page/app/back.js"
};
static const unsigned char asset_3[] = {
#embed "page/app/banner.js"
};
static const unsigned char asset_4[] = {
#embed "page/app/base.css"
};
static const unsigned char asset_5[] = {
#embed "page/app/bulk.js"
};
static const unsigned char asset_6[] = {
#embed "page/app/commands.js"
};
static const unsigned char asset_7[] = {
#embed "page/app/describe.js"
};
static const unsigned char asset_8[] = {
#embed "page/app/detail.css"
};
static const unsigned char asset_9[] = {
#embed "page/app/detail.js"
};
static const unsigned char asset_10[] = {
#embed "page/app/dialog.js"
};
static const unsigned char asset_11[] = {
#embed "page/app/dialogs.css"
};
static const unsigned char asset_12[] = {
#embed "page/app/dom.js"
};
static const unsigned char asset_13[] = {
#embed "page/app/drop.js"
};
static const unsigned char asset_14[] = {
#embed "page/app/emitter.js"
};
static const unsigned char asset_15[] = {
#embed "page/app/empty.js"
};
static const unsigned char asset_16[] = {
#embed "page/app/extensions.js"
};
static const unsigned char asset_17[] = {
#embed "page/app/failure.js"
};
static const unsigned char asset_18[] = {
#embed "page/app/feed.js"
};
static const unsigned char asset_19[] = {
#embed "page/app/films.js"
};
static const unsigned char asset_20[] = {
#embed "page/app/folders.js"
};
static const unsigned char asset_21[] = {
#embed "page/app/format.js"
};
static const unsigned char asset_22[] = {
#embed "page/app/frame.css"
};
static const unsigned char asset_23[] = {
#embed "page/app/graph.js"
};
static const unsigned char asset_24[] = {
#embed "page/app/grid.js"
};
static const unsigned char asset_25[] = {
#embed "page/app/header-fields.js"
};
static const unsigned char asset_26[] = {
#embed "page/app/hours.js"
};
static const unsigned char asset_27[] = {
#embed "page/app/keys.js"
};
static const unsigned char asset_28[] = {
#embed "page/app/kinds.js"
};
static const unsigned char asset_29[] = {
#embed "page/app/links.js"
};
static const unsigned char asset_30[] = {
#embed "page/app/list-menu.js"
};
static const unsigned char asset_31[] = {
#embed "page/app/list.js"
};
static const unsigned char asset_32[] = {
#embed "page/app/lists.js"
};
static const unsigned char asset_33[] = {
#embed "page/app/log.js"
};
static const unsigned char asset_34[] = {
#embed "page/app/main.js"
};
static const unsigned char asset_35[] = {
#embed "page/app/menu.js"
};
static const unsigned char asset_36[] = {
#embed "page/app/model.js"
};
static const unsigned char asset_37[] = {
#embed "page/app/notify.js"
};
static const unsigned char asset_38[] = {
#embed "page/app/patch.js"
};
static const unsigned char asset_39[] = {
#embed "page/app/pointer.js"
};
static const unsigned char asset_40[] = {
#embed "page/app/preferences.js"
};
static const unsigned char asset_41[] = {
#embed "page/app/preview.js"
};
static const unsigned char asset_42[] = {
#embed "page/app/print.css"
};
static const unsigned char asset_43[] = {
#embed "page/app/print.js"
};
static const unsigned char asset_44[] = {
#embed "page/app/rail.js"
};
static const unsigned char asset_45[] = {
#embed "page/app/remedies.js"
};
static const unsigned char asset_46[] = {
#embed "page/app/removal.js"
};
static const unsigned char asset_47[] = {
#embed "page/app/route.js"
};
static const unsigned char asset_48[] = {
#embed "page/app/row-menu.js"
};
static const unsigned char asset_49[] = {
#embed "page/app/row.js"
};
static const unsigned char asset_50[] = {
#embed "page/app/rows.css"
};
static const unsigned char asset_51[] = {
#embed "page/app/rules.js"
};
static const unsigned char asset_52[] = {
#embed "page/app/segment-map.js"
};
static const unsigned char asset_53[] = {
#embed "page/app/selection.js"
};
static const unsigned char asset_54[] = {
#embed "page/app/sets.js"
};
static const unsigned char asset_55[] = {
#embed "page/app/settings.js"
};
static const unsigned char asset_56[] = {
#embed "page/app/signin.js"
};
static const unsigned char asset_57[] = {
#embed "page/app/speed-field.js"
};
static const unsigned char asset_58[] = {
#embed "page/app/status.js"
};
static const unsigned char asset_59[] = {
#embed "page/app/text.de.js"
};
static const unsigned char asset_60[] = {
#embed "page/app/text.en.js"
};
static const unsigned char asset_61[] = {
#embed "page/app/text.es.js"
};
static const unsigned char asset_62[] = {
#embed "page/app/text.fr.js"
};
static const unsigned char asset_63[] = {
#embed "page/app/text.ja.js"
};
static const unsigned char asset_64[] = {
#embed "page/app/text.js"
};
static const unsigned char asset_65[] = {
#embed "page/app/text.zh.js"
};
static const unsigned char asset_66[] = {
#embed "page/app/theme.js"
};
static const unsigned char asset_67[] = {
#embed "page/app/timetable.js"
};
static const unsigned char asset_68[] = {
#embed "page/app/toast.js"
};
static const unsigned char asset_69[] = {
#embed "page/app/totals.js"
};
static const unsigned char asset_70[] = {
#embed "page/icon-192.png"
};
static const unsigned char asset_71[] = {
#embed "page/icon-512.png"
};
static const unsigned char asset_72[] = {
#embed "page/icon-maskable-512.png"
};
static const unsigned char asset_73[] = {
#embed "page/icon.svg"
};
static const unsigned char asset_74[] = {
#embed "page/index.html"
};
static const unsigned char asset_75[] = {
#embed "page/manifest.webmanifest"
};
static const unsigned char asset_76[] = {
#embed "openapi.json"
};

static const haul_page_asset assets[] = {
    {"app/add.js", "text/javascript; charset=utf-8", asset_0, sizeof(asset_0)},
    {"app/api.js", "text/javascript; charset=utf-8", asset_1, sizeof(asset_1)},
    {"app/back.js", "text/javascript; charset=utf-8", asset_2, sizeof(asset_2)},
    {"app/banner.js", "text/javascript; charset=utf-8", asset_3, sizeof(asset_3)},
    {"app/base.css", "text/css; charset=utf-8", asset_4, sizeof(asset_4)},
    {"app/bulk.js", "text/javascript; charset=utf-8", asset_5, sizeof(asset_5)},
    {"app/commands.js", "text/javascript; charset=utf-8", asset_6, sizeof(asset_6)},
    {"app/describe.js", "text/javascript; charset=utf-8", asset_7, sizeof(asset_7)},
    {"app/detail.css", "text/css; charset=utf-8", asset_8, sizeof(asset_8)},
    {"app/detail.js", "text/javascript; charset=utf-8", asset_9, sizeof(asset_9)},
    {"app/dialog.js", "text/javascript; charset=utf-8", asset_10, sizeof(asset_10)},
    {"app/dialogs.css", "text/css; charset=utf-8", asset_11, sizeof(asset_11)},
    {"app/dom.js", "text/javascript; charset=utf-8", asset_12, sizeof(asset_12)},
    {"app/drop.js", "text/javascript; charset=utf-8", asset_13, sizeof(asset_13)},
    {"app/emitter.js", "text/javascript; charset=utf-8", asset_14, sizeof(asset_14)},
    {"app/empty.js", "text/javascript; charset=utf-8", asset_15, sizeof(asset_15)},
    {"app/extensions.js", "text/javascript; charset=utf-8", asset_16, sizeof(asset_16)},
    {"app/failure.js", "text/javascript; charset=utf-8", asset_17, sizeof(asset_17)},
    {"app/feed.js", "text/javascript; charset=utf-8", asset_18, sizeof(asset_18)},
    {"app/films.js", "text/javascript; charset=utf-8", asset_19, sizeof(asset_19)},
    {"app/folders.js", "text/javascript; charset=utf-8", asset_20, sizeof(asset_20)},
    {"app/format.js", "text/javascript; charset=utf-8", asset_21, sizeof(asset_21)},
    {"app/frame.css", "text/css; charset=utf-8", asset_22, sizeof(asset_22)},
    {"app/graph.js", "text/javascript; charset=utf-8", asset_23, sizeof(asset_23)},
    {"app/grid.js", "text/javascript; charset=utf-8", asset_24, sizeof(asset_24)},
    {"app/header-fields.js", "text/javascript; charset=utf-8", asset_25, sizeof(asset_25)},
    {"app/hours.js", "text/javascript; charset=utf-8", asset_26, sizeof(asset_26)},
    {"app/keys.js", "text/javascript; charset=utf-8", asset_27, sizeof(asset_27)},
    {"app/kinds.js", "text/javascript; charset=utf-8", asset_28, sizeof(asset_28)},
    {"app/links.js", "text/javascript; charset=utf-8", asset_29, sizeof(asset_29)},
    {"app/list-menu.js", "text/javascript; charset=utf-8", asset_30, sizeof(asset_30)},
    {"app/list.js", "text/javascript; charset=utf-8", asset_31, sizeof(asset_31)},
    {"app/lists.js", "text/javascript; charset=utf-8", asset_32, sizeof(asset_32)},
    {"app/log.js", "text/javascript; charset=utf-8", asset_33, sizeof(asset_33)},
    {"app/main.js", "text/javascript; charset=utf-8", asset_34, sizeof(asset_34)},
    {"app/menu.js", "text/javascript; charset=utf-8", asset_35, sizeof(asset_35)},
    {"app/model.js", "text/javascript; charset=utf-8", asset_36, sizeof(asset_36)},
    {"app/notify.js", "text/javascript; charset=utf-8", asset_37, sizeof(asset_37)},
    {"app/patch.js", "text/javascript; charset=utf-8", asset_38, sizeof(asset_38)},
    {"app/pointer.js", "text/javascript; charset=utf-8", asset_39, sizeof(asset_39)},
    {"app/preferences.js", "text/javascript; charset=utf-8", asset_40, sizeof(asset_40)},
    {"app/preview.js", "text/javascript; charset=utf-8", asset_41, sizeof(asset_41)},
    {"app/print.css", "text/css; charset=utf-8", asset_42, sizeof(asset_42)},
    {"app/print.js", "text/javascript; charset=utf-8", asset_43, sizeof(asset_43)},
    {"app/rail.js", "text/javascript; charset=utf-8", asset_44, sizeof(asset_44)},
    {"app/remedies.js", "text/javascript; charset=utf-8", asset_45, sizeof(asset_45)},
    {"app/removal.js", "text/javascript; charset=utf-8", asset_46, sizeof(asset_46)},
    {"app/route.js", "text/javascript; charset=utf-8", asset_47, sizeof(asset_47)},
    {"app/row-menu.js", "text/javascript; charset=utf-8", asset_48, sizeof(asset_48)},
    {"app/row.js", "text/javascript; charset=utf-8", asset_49, sizeof(asset_49)},
    {"app/rows.css", "text/css; charset=utf-8", asset_50, sizeof(asset_50)},
    {"app/rules.js", "text/javascript; charset=utf-8", asset_51, sizeof(asset_51)},
    {"app/segment-map.js", "text/javascript; charset=utf-8", asset_52, sizeof(asset_52)},
    {"app/selection.js", "text/javascript; charset=utf-8", asset_53, sizeof(asset_53)},
    {"app/sets.js", "text/javascript; charset=utf-8", asset_54, sizeof(asset_54)},
    {"app/settings.js", "text/javascript; charset=utf-8", asset_55, sizeof(asset_55)},
    {"app/signin.js", "text/javascript; charset=utf-8", asset_56, sizeof(asset_56)},
    {"app/speed-field.js", "text/javascript; charset=utf-8", asset_57, sizeof(asset_57)},
    {"app/status.js", "text/javascript; charset=utf-8", asset_58, sizeof(asset_58)},
    {"app/text.de.js", "text/javascript; charset=utf-8", asset_59, sizeof(asset_59)},
    {"app/text.en.js", "text/javascript; charset=utf-8", asset_60, sizeof(asset_60)},
    {"app/text.es.js", "text/javascript; charset=utf-8", asset_61, sizeof(asset_61)},
    {"app/text.fr.js", "text/javascript; charset=utf-8", asset_62, sizeof(asset_62)},
    {"app/text.ja.js", "text/javascript; charset=utf-8", asset_63, sizeof(asset_63)},
    {"app/text.js", "text/javascript; charset=utf-8", asset_64, sizeof(asset_64)},
    {"app/text.zh.js", "text/javascript; charset=utf-8", asset_65, sizeof(asset_65)},
    {"app/theme.js", "text/javascript; charset=utf-8", asset_66, sizeof(asset_66)},
    {"app/timetable.js", "text/javascript; charset=utf-8", asset_67, sizeof(asset_67)},
    {"app/toast.js", "text/javascript; charset=utf-8", asset_68, sizeof(asset_68)},
    {"app/totals.js", "text/javascript; charset=utf-8", asset_69, sizeof(asset_69)},
    {"icon-192.png", "image/png", asset_70, sizeof(asset_70)},
    {"icon-512.png", "image/png", asset_71, sizeof(asset_71)},
    {"icon-maskable-512.png", "image/png", asset_72, sizeof(asset_72)},
    {"icon.svg", "image/svg+xml", asset_73, sizeof(asset_73)},
    {"index.html", "text/html; charset=utf-8", asset_74, sizeof(asset_74)},
    {"manifest.webmanifest", "application/manifest+json", asset_75, sizeof(asset_75)},
    {"openapi.json", "application/json", asset_76, sizeof(asset_76)},
};

const haul_page_asset *haul_page_assets(void) { return assets; }
size_t haul_page_asset_count(void) { return sizeof(assets) / sizeof(assets[0]); }
