#define _GNU_SOURCE
#include "CHaulSystem.h"

#include <fcntl.h>
#include <sys/resource.h>

static int64_t clamped(rlim_t limit) { return limit == RLIM_INFINITY || limit > INT64_MAX ? INT64_MAX : (int64_t)limit; }

int haul_descriptor_limits(int64_t *now, int64_t *most) {
    struct rlimit limits;
    if (getrlimit(RLIMIT_NOFILE, &limits) != 0) return -1;
    *now = clamped(limits.rlim_cur);
    *most = clamped(limits.rlim_max);
    return 0;
}

int haul_raise_descriptor_limit(int64_t limit) {
    struct rlimit limits;
    if (getrlimit(RLIMIT_NOFILE, &limits) != 0) return -1;
    if (clamped(limits.rlim_cur) >= limit) return 0;
    limits.rlim_cur = clamped(limits.rlim_max) < limit ? limits.rlim_max : (rlim_t)limit;
    return setrlimit(RLIMIT_NOFILE, &limits);
}

int haul_open_descriptors(int below) {
    int count = 0;
    for (int fd = 0; fd < below; fd++)
        if (fcntl(fd, F_GETFD) >= 0) count++;
    return count;
}
