#include "CHaulSystem.h"

// As in sqlite3.h, which this target does not depend on. Variadic, and therefore not callable from Swift.
extern int sqlite3_db_config(struct sqlite3 *, int, ...);
enum { SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE = 1006 };

void haul_sqlite_keep_log(struct sqlite3 *database) {
    sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}
