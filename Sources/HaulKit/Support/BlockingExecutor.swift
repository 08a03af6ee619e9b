internal import Dispatch
internal import Synchronization

/// Runs calls that may block, never on the actor, the event loops or the pool of the concurrency runtime.
///
/// The executor is passed in, so that a simulation can run all calls on one thread, in an order of its choice.
package struct BlockingExecutor: Sendable {
    typealias Call = @Sendable () -> Void

    /// Runs a call concurrently with other calls.
    let async: @Sendable (_ qos: DispatchQoS.QoSClass, _ call: @escaping Call) -> Void
    /// Makes a queue whose calls run one after another, on a thread of its own if necessary. A downloader has only a
    /// few such queues.
    let makeQueue: @Sendable (_ label: String, _ qos: DispatchQoS) -> SerialQueue
    /// Makes a queue for the writes of a file. There may be thousands of such queues.
    let makeFileQueue: @Sendable () -> SerialQueue

    /// Uses separate threads for writes of files, for calls that a caller waits for, and for background work, so that a
    /// sync of gigabytes delays no write. `makeQueue` makes dispatch queues.
    package static let system: BlockingExecutor = {
        let (writes, calls, background) = (pool(), pool(), pool())
        return BlockingExecutor(
            async: { qos, call in (qos == .utility || qos == .background ? background : calls).async(call) },
            makeQueue: { label, qos in
                let queue = DispatchQueue(label: label, qos: qos)
                return SerialQueue { call in queue.async(execute: call) }
            },
            makeFileQueue: { SerialQueue(on: writes) }
        )
    }()

    /// Runs calls that wait for other processes or other calls. Uses threads of Dispatch, which starts more threads
    /// than a ``ThreadPool``.
    package static let waiting = BlockingExecutor(
        async: { qos, call in DispatchQueue.global(qos: qos).async(execute: call) },
        makeQueue: system.makeQueue
    )

    /// Makes a pool with enough threads that a few slow disks do not delay the other disks.
    private static func pool() -> ThreadPool { ThreadPool(most: 16) }

    /// - Parameter makeFileQueue: `nil` means that files get queues from `makeQueue`.
    init(
        async: @escaping @Sendable (_ qos: DispatchQoS.QoSClass, _ call: @escaping Call) -> Void,
        makeQueue: @escaping @Sendable (_ label: String, _ qos: DispatchQoS) -> SerialQueue,
        makeFileQueue: (@Sendable () -> SerialQueue)? = nil
    ) {
        self.async = async
        self.makeQueue = makeQueue
        self.makeFileQueue = makeFileQueue ?? { makeQueue("haul.write", .userInitiated) }
    }

    /// Runs a blocking call and returns its result.
    package func run<Value: Sendable, Failure: Error>(
        _ call: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
            async(.default) { continuation.resume(returning: Result { () throws(Failure) in try call() }) }
        }
        return try result.get()
    }
}

/// Runs calls one after another, in the order in which they came.
struct SerialQueue: Sendable {
    let async: @Sendable (_ call: @escaping BlockingExecutor.Call) -> Void
}

/// Runs a blocking call on a thread of ``BlockingExecutor/system``.
func runBlocking<Value: Sendable, Failure: Error>(
    _ call: @escaping @Sendable () throws(Failure) -> Value
) async throws(Failure) -> Value {
    try await BlockingExecutor.system.run(call)
}

/// A flag that any thread can set, to make work on another thread stop.
final class CancelFlag: Sendable {
    private let flag = Atomic<Bool>(false)
    var isSet: Bool { flag.load(ordering: .relaxed) }
    func set() { flag.store(true, ordering: .relaxed) }
}
