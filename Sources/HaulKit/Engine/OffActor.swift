internal import Foundation

/// Runs a blocking call on a thread that may block.
func offActor<Value: Sendable, Failure: Error>(
    _ call: @escaping @Sendable () throws(Failure) -> Value
) async throws(Failure) -> Value {
    let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
            continuation.resume(returning: Result { () throws(Failure) in try call() })
        }
    }
    return try result.get()
}
