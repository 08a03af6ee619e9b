/// Runs a blocking call on a thread that may block.
func runBlocking<Value: Sendable, Failure: Error>(
    _ call: @escaping @Sendable () throws(Failure) -> Value
) async throws(Failure) -> Value {
    try await BlockingExecutor.system.run(call)
}

extension Downloader {
    /// The same on the executor that this downloader was given.
    func runBlocking<Value: Sendable, Failure: Error>(
        _ call: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await executor.run(call)
    }
}
