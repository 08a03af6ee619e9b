internal import Synchronization

/// A connection to PostgreSQL with its own thread, so that no call blocks a thread of the concurrency runtime. The
/// thread answers calls in the order of their arrival.
///
/// The thread connects for the first call, and reconnects after a loss. After a failed attempt, the thread makes no
/// other attempt for a random time of up to 30 s. During this time, calls fail at once with
/// ``FleetError/Code/databaseUnreachable``; the caller decides when to repeat them. A call that is cancelled or exceeds
/// its deadline closes the connection, because the next call would otherwise read the late answer to this call.
///
/// Statements are unnamed and settings end with their transaction, so the connection works through PgBouncer in
/// transaction mode.
package final class DatabaseConnection: Sendable {
    private let thread: DatabaseThread

    package convenience init(_ settings: DatabaseSettings) { self.init(settings, among: .ofProcess) }

    init(_ settings: DatabaseSettings, among threads: DatabaseThreads) {
        thread = DatabaseThread(settings, among: threads)
    }

    deinit { thread.close() }

    /// Ends the thread and the connection. Later calls fail with ``FleetError/Code/cancelled``.
    package func close() { thread.close() }

    /// Runs statements as one transaction in one round trip.
    ///
    /// Returns the rows of each statement.
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

    /// Runs `body` on the connection's thread as one transaction. Repeats `body` after a conflict with another
    /// transaction, up to six attempts in all.
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
    /// - Parameter timeout: limit for the whole call, including the wait for earlier calls.
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
    /// Limit for the whole call, in case the server does not enforce its limits. Covers several statements and the time
    /// to connect.
    fileprivate var callTimeout: Duration { statementTimeout * 2 + .seconds(10) }
}

/// Carries a value from the connection's thread to the caller.
private final class ValueBox<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)

    func set(_ new: Value) { value.withLock { $0 = new } }
    func get() -> Value? { value.withLock { $0 } }
}
