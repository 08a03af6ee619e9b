/// Runs a blocking call on a thread of ``BlockingExecutor/system``.
func runBlocking<Value: Sendable, Failure: Error>(
    _ call: @escaping @Sendable () throws(Failure) -> Value
) async throws(Failure) -> Value {
    try await BlockingExecutor.system.run(call)
}
