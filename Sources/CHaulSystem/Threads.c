#define _GNU_SOURCE
#include "CHaulSystem.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

static int start(pthread_t *thread, int state, void *(*run)(void *), void *context) {
    pthread_attr_t attributes;
    int code = pthread_attr_init(&attributes);

    if (code != 0) return code;
    code = pthread_attr_setdetachstate(&attributes, state);
    if (code == 0) code = pthread_attr_setstacksize(&attributes, (size_t)1 << 20);
    if (code == 0) code = pthread_create(thread, &attributes, run, context);
    pthread_attr_destroy(&attributes);
    return code;
}

int haul_start_thread(void *(*run)(void *), void *context) {
    pthread_t thread;

    return start(&thread, PTHREAD_CREATE_DETACHED, run, context);
}

int haul_start_joinable_thread(void *(*run)(void *), void *context, uint64_t *thread) {
    pthread_t started;
    int code = start(&started, PTHREAD_CREATE_JOINABLE, run, context);

    if (code == 0) *thread = (uint64_t)started;
    return code;
}

uint64_t haul_this_thread(void) { return (uint64_t)pthread_self(); }

int haul_join_thread(uint64_t thread, int64_t milliseconds) {
#ifdef __linux__
    struct timespec end;

    if (clock_gettime(CLOCK_REALTIME, &end) != 0) return errno;
    end.tv_sec += milliseconds / 1000;
    end.tv_nsec += milliseconds % 1000 * 1000000;
    if (end.tv_nsec >= 1000000000) {
        end.tv_sec += 1;
        end.tv_nsec -= 1000000000;
    }
    return pthread_timedjoin_np((pthread_t)thread, NULL, &end);
#else
    (void)milliseconds;
    return pthread_join((pthread_t)thread, NULL);
#endif
}
