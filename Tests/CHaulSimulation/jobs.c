#include "include/CHaulSimulation.h"

#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

// Declarations of the runtime's own interface (swift/Runtime/Concurrency.h).
typedef __attribute__((swiftcall)) void (*enqueue_original)(void *job);
extern __attribute__((swiftcall)) void (*swift_task_enqueueGlobal_hook)(void *job, enqueue_original original);
extern __attribute__((swiftcall)) void swift_job_run(void *job, void *executor, uintptr_t implementation);

static _Thread_local void *current_context;
static _Thread_local void (*current_enqueue)(void *context, void *job);

static __attribute__((swiftcall)) void enqueue(void *job, enqueue_original original) {
    if (current_enqueue != NULL)
        current_enqueue(current_context, job);
    else
        original(job);
}

static void install(void) { swift_task_enqueueGlobal_hook = enqueue; }

void haul_jobs_capture(void *context, void (*enqueue)(void *context, void *job)) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install);
    current_context = context;
    current_enqueue = enqueue;
}

void haul_jobs_release(void) {
    current_enqueue = NULL;
    current_context = NULL;
}

void haul_job_run(void *job) { swift_job_run(job, NULL, 0); }

void haul_memory_keep(void) {
    mallopt(M_MMAP_THRESHOLD, 1 << 28);
    mallopt(M_TRIM_THRESHOLD, 1 << 28);
}
