#if HAUL_THREAD_SANITIZER
    internal import Foundation

    /// Replaces `Synchronization.Mutex` under the thread sanitizer (`Scripts/sanitize-threads`). The futex of that
    /// mutex is in a library that was built without the sanitizer, so the sanitizer reports every use as a race.
    struct Mutex<Value>: ~Copyable, Sendable {
        /// Unchecked: `lock` never changes, and `value` is accessed only while the lock is held. The value enters and
        /// leaves as `sending`, so that no other code has it.
        private final class Storage: @unchecked Sendable {
            let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
            var value: Value

            init(_ value: Value) {
                self.value = value
                lock.initialize(to: pthread_mutex_t())
                pthread_mutex_init(lock, nil)
            }

            deinit {
                pthread_mutex_destroy(lock)
                lock.deallocate()
            }
        }

        private let storage: Storage

        init(_ value: sending Value) { storage = Storage(value) }

        borrowing func withLock<Result, Failure: Error>(
            _ body: (inout Value) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result {
            pthread_mutex_lock(storage.lock)
            defer { pthread_mutex_unlock(storage.lock) }
            return try body(&storage.value)
        }
    }
#endif
