// Runs jobs of Swift's concurrency runtime on a chosen thread, for a simulation that decides the order of all jobs.
#pragma once

// Passes every job that this thread enqueues from now on to `enqueue` with `context`. Other threads are unaffected.
void haul_jobs_capture(void *context, void (*enqueue)(void *context, void *job));
// Ends the capture for this thread.
void haul_jobs_release(void);
// Runs a captured job at once on this thread.
void haul_job_run(void *job);

// Makes the allocator keep freed memory. Otherwise files of hundreds of kilobytes would cost a page fault per page each
// time they are allocated.
void haul_memory_keep(void);
