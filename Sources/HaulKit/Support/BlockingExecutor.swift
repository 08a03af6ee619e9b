internal import Dispatch

/// Where calls run that may block: never on the actor, the event loops or the pool of the concurrency runtime.
///
/// Handed in, so that a simulation can run all of it on one thread, in an order that it chooses.
package struct BlockingExecutor: Sendable {
    typealias Call = @Sendable () -> Void

    /// Runs a call beside all others.
    let async: @Sendable (_ qos: DispatchQoS.QoSClass, _ call: @escaping Call) -> Void
    /// Makes a queue of which the calls run one after another, on a thread of its own if need be. For the few that a downloader
    /// has.
    let makeQueue: @Sendable (_ label: String, _ qos: DispatchQoS) -> SerialQueue
    /// Makes a queue for the writes of a file. There may be thousands.
    let makeFileQueue: @Sendable () -> SerialQueue

    /// The writes of files, the calls that somebody waits for, and what is done in the background each have threads of
    /// their own: a sync of gigabytes holds no write up. Queues are the system's dispatch queues.
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

    /// For calls that wait for other processes, or for other calls: with threads of the system, which are not so few.
    package static let waiting = BlockingExecutor(
        async: { qos, call in DispatchQueue.global(qos: qos).async(execute: call) },
        makeQueue: system.makeQueue
    )

    /// Enough that a few slow disks do not hold the others up.
    private static func pool() -> ThreadPool { ThreadPool(most: 16) }

    /// - Parameter makeFileQueue: `nil`: files have queues of `makeQueue`.
    init(
        async: @escaping @Sendable (_ qos: DispatchQoS.QoSClass, _ call: @escaping Call) -> Void,
        makeQueue: @escaping @Sendable (_ label: String, _ qos: DispatchQoS) -> SerialQueue,
        makeFileQueue: (@Sendable () -> SerialQueue)? = nil
    ) {
        self.async = async
        self.makeQueue = makeQueue
        self.makeFileQueue = makeFileQueue ?? { makeQueue("haul.write", .userInitiated) }
    }

    /// Runs a blocking call and returns what it returned.
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
