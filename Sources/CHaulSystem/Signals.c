#define _GNU_SOURCE
#include "CHaulSystem.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

// Number of deliveries of each signal that haul_await_signal has not returned yet.
static atomic_int counts[65];
static int next(void) {
    for (int signal = 1; signal < 65; signal++) {
        if (atomic_load(&counts[signal]) > 0) {
            atomic_fetch_sub(&counts[signal], 1);
            return signal;
        }
    }
    return 0;
}

// A handler may post a semaphore, and a semaphore takes no descriptor. Systems without unnamed semaphores use a pipe.
#ifdef __linux__
#include <semaphore.h>
static sem_t arrived;
static int prepare(void) { return sem_init(&arrived, 0, 0); }
static void post(void) { sem_post(&arrived); }
int haul_await_signal(void) {
    while (sem_wait(&arrived) != 0 && errno == EINTR) continue;
    return next();
}
#else
static int arrived[2];
static int prepare(void) { return pipe(arrived); }
static void post(void) { ssize_t written = write(arrived[1], "", 1); (void)written; }
int haul_await_signal(void) {
    char byte;
    while (read(arrived[0], &byte, 1) != 1 && errno == EINTR) continue;
    return next();
}
#endif

static void handle(int signal) {
    int before = errno;
    if (signal >= 0 && signal < 65) atomic_fetch_add(&counts[signal], 1);
    post();
    errno = before;
}

int haul_catch_signals(const int32_t *signals, int count) {
    static int is_prepared;
    struct sigaction action;
    if (!is_prepared && prepare() != 0) return -1;
    is_prepared = 1;
    memset(&action, 0, sizeof action);
    action.sa_handler = handle;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < count; i++)
        if (sigaction(signals[i], &action, 0) != 0) return -1;
    return 0;
}

void haul_release_signals(const int32_t *signals, int count) {
    for (int i = 0; i < count; i++) signal(signals[i], SIG_DFL);
}

void haul_take_default(int signal) {
    int32_t released = signal;
    haul_release_signals(&released, 1);
    // raise(3) signals this thread and returns once the process continues. A signal to the process might arrive after
    // the call.
    raise(signal);
    haul_catch_signals(&released, 1);
}

int haul_ignores_signal(int signal) {
    struct sigaction action;
    return sigaction(signal, 0, &action) == 0 && action.sa_handler == SIG_IGN;
}
