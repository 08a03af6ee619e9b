// Jobs of the concurrency runtime on a thread of our choice: what a simulation needs that decides the order of everything.
#pragma once

// From now on every job that this thread enqueues goes to `enqueue`, with `context`; other threads are left alone.
void haul_jobs_capture(void *context, void (*enqueue)(void *context, void *job));
// Ends that for this thread.
void haul_jobs_release(void);
// Runs a job that was captured, here and now.
void haul_job_run(void *job);

// Gives no memory back to the system from now on: files of hundreds of kilobytes that come and go cost a page fault for each of their pages.
void haul_memory_keep(void);
