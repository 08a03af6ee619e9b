// PostgreSQL's client library, from Debian's package libpq-dev.
#include <libpq-fe.h>
