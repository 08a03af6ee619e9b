internal import Synchronization

/// A connection to PostgreSQL with a thread of its own: no call blocks a thread of the concurrency runtime. Calls are answered in
/// the order in which they come.
///
/// It connects when the first call needs it, and again after it was lost, at random moments that lie up to 30 s apart. Until then
/// calls fail at once with ``FleetError/Code/databaseUnreachable``: when to repeat them is the caller's decision. A call that was
/// cancelled, or not answered by its deadline, ends together with the connection, for its answer would be taken for the next one's.
///
/// Statements are unnamed and no setting outlives its transaction, so that PgBouncer in transaction mode may lie between.
package final class DatabaseConnection: Sendable {
    private let thread: DatabaseThread

    package init(_ settings: DatabaseSettings) { thread = DatabaseThread(settings) }

    deinit { thread.close() }

    /// Ends the thread and the connection. Calls fail from now on with ``FleetError/Code/cancelled``.
    package func close() { thread.close() }

    /// Runs statements as one transaction in one round trip.
    ///
    /// - Returns: the rows of each.
    func run(_ statements: [SQLStatement], _ limits: TransactionLimits = .standard) async throws(FleetError)
        -> [DatabaseRows]
    {
        try await perform(timeout: limits.callTimeout, isRepeatable: true) { session throws(FleetError) in
            Array(try session.pipeline([limits.statement] + statements).dropFirst())
        }
    }

    func run(
        _ statement: String,
        _ parameters: [SQLParameter] = [],
        _ limits: TransactionLimits = .standard
    ) async throws(FleetError) -> DatabaseRows {
        try await run([SQLStatement(statement, parameters)], limits).first ?? .none
    }

    /// Runs `body` on the connection's thread as one transaction, once more where it met another transaction.
    func transaction<Value: Sendable>(
        _ limits: TransactionLimits = .standard,
        _ body: @escaping @Sendable (DatabaseSession) throws(FleetError) -> Value
    ) async throws(FleetError) -> Value {
        try await perform(timeout: limits.callTimeout, isRepeatable: true) { session throws(FleetError) in
            try session.transaction(limits, body)
        }
    }

    /// Runs `body` on the connection's thread.
    ///
    /// - Parameter timeout: for the whole call, with the time in which it waits for earlier ones.
    func perform<Value: Sendable>(
        timeout: Duration,
        isRepeatable: Bool = false,
        _ body: @escaping @Sendable (DatabaseSession) throws(FleetError) -> Value
    ) async throws(FleetError) -> Value {
        let value = ValueBox<Value>()
        let call = DatabaseCall(deadline: .now + timeout, isRepeatable: isRepeatable) { session throws(FleetError) in
            value.set(try body(session))
        }
        let answer = await withTaskCancellationHandler {
            thread.submit(call)
            return await call.answer()
        } onCancel: {
            call.finish(.failure(FleetError(.cancelled, "The call to the database was cancelled.")))
            thread.wake()
        }
        try answer.get()
        guard let value = value.get() else {
            throw FleetError(.statementFailed, "A call to the database ended without a value.")
        }
        return value
    }
}

extension TransactionLimits {
    /// How long a call waits for a server that does not keep its own limits: several statements, and the time to connect.
    fileprivate var callTimeout: Duration { statementTimeout * 2 + .seconds(10) }
}

/// Carries a value from the connection's thread to the caller.
private final class ValueBox<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)

    func set(_ new: Value) { value.withLock { $0 = new } }
    func get() -> Value? { value.withLock { $0 } }
}
