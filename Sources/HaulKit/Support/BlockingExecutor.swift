internal import Dispatch

/// Where calls run that may block: never on the actor, the event loops or the pool of the concurrency runtime.
///
/// Handed in, so that a simulation can run all of it on one thread, in an order that it chooses.
package struct BlockingExecutor: Sendable {
    typealias Call = @Sendable () -> Void

    /// Runs a call beside all others.
    let async: @Sendable (_ qos: DispatchQoS.QoSClass, _ call: @escaping Call) -> Void
    /// Makes a queue of which the calls run one after another.
    let makeQueue: @Sendable (_ label: String, _ qos: DispatchQoS) -> SerialQueue

    /// The threads of the system's dispatch queues.
    package static let system = BlockingExecutor(
        async: { qos, call in DispatchQueue.global(qos: qos).async(execute: call) },
        makeQueue: { label, qos in
            let queue = DispatchQueue(label: label, qos: qos)
            return SerialQueue { call in queue.async(execute: call) }
        }
    )

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
