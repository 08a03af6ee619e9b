#if HAUL_THREAD_SANITIZER
    internal import Foundation

    /// In place of `Synchronization.Mutex` where the thread sanitizer looks on (`Scripts/sanitize-threads`): it does
    /// not know that one, whose futex lies in a library that was built without it, and takes every use for a race.
    struct Mutex<Value>: ~Copyable, Sendable {
        /// The value is touched under the lock only; it comes in and goes out as `sending`, so that no other has it.
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
