#if HAUL_THREAD_SANITIZER
    @testable import HaulKit

    /// Of the two that could be meant, the one that the thread sanitizer knows.
    typealias Mutex<Value> = HaulKit.Mutex<Value>
#endif
