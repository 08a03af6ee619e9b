#define _GNU_SOURCE
#include "CHaulSystem.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>

static int64_t clamped(rlim_t limit) { return limit == RLIM_INFINITY || limit > INT64_MAX ? INT64_MAX : (int64_t)limit; }

int haul_descriptor_limits(int64_t *now, int64_t *most) {
    struct rlimit limits;
    if (getrlimit(RLIMIT_NOFILE, &limits) != 0) return -1;
    *now = clamped(limits.rlim_cur);
    *most = clamped(limits.rlim_max);
    return 0;
}

// Taken to change the limit, so that no thread restores a limit that another one has changed since.
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

static int raise_limit(int64_t limit) {
    struct rlimit limits;
    if (getrlimit(RLIMIT_NOFILE, &limits) != 0) return -1;
    if (clamped(limits.rlim_cur) >= limit) return 0;
    limits.rlim_cur = clamped(limits.rlim_max) < limit ? limits.rlim_max : (rlim_t)limit;
    return setrlimit(RLIMIT_NOFILE, &limits);
}

int haul_raise_descriptor_limit(int64_t limit) {
    pthread_mutex_lock(&changing);
    int result = raise_limit(limit);
    pthread_mutex_unlock(&changing);
    return result;
}

// posix_spawn has no attribute for limits, so the program inherits one that is raised only for the call.
int haul_spawn_with_most_files(const char *path, char *const arguments[], char *const environment[],
                               const int32_t outputs[2], int32_t *process) {
    struct rlimit own;
    pthread_mutex_lock(&changing);
    int is_raised = getrlimit(RLIMIT_NOFILE, &own) == 0 && raise_limit(INT64_MAX) == 0;
    int code = haul_spawn(path, arguments, environment, outputs, process);
    if (is_raised) setrlimit(RLIMIT_NOFILE, &own);
    pthread_mutex_unlock(&changing);
    return code;
}

int haul_open_descriptors(int below) {
    int count = 0;
    for (int fd = 0; fd < below; fd++)
        if (fcntl(fd, F_GETFD) >= 0) count++;
    return count;
}
