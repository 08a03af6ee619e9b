#if HAUL_THREAD_SANITIZER
    @testable import HaulKit

    /// Resolves the ambiguous name to the `Mutex` that the thread sanitizer understands.
    typealias Mutex<Value> = HaulKit.Mutex<Value>
#endif
