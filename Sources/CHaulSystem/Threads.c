#define _GNU_SOURCE
#include "CHaulSystem.h"

#include <pthread.h>
#include <stddef.h>

int haul_start_thread(void *(*run)(void *), void *context) {
    pthread_attr_t attributes;
    pthread_t thread;
    int code = pthread_attr_init(&attributes);

    if (code != 0) return code;
    code = pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (code == 0) code = pthread_attr_setstacksize(&attributes, (size_t)1 << 20);
    if (code == 0) code = pthread_create(&thread, &attributes, run, context);
    pthread_attr_destroy(&attributes);
    return code;
}
