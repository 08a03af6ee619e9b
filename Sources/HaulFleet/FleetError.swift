/// An error of the queue, the destination or the local disk: a code and a sentence.
package struct FleetError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable, Hashable, Codable, CaseIterable {
        /// The database is unreachable, has closed the connection, or cannot run the statement now (a time limit, a
        /// conflict, a standby). The last statement may or may not have taken effect.
        case databaseUnreachable
        /// The database refuses: wrong credentials, missing rights, a missing schema or a schema of another version. Or
        /// the queue is damaged or has no destination.
        case databaseRefused
        /// A statement failed, and a repetition would fail again.
        case statementFailed
        /// The database does not know the worker or counts it as dead. The worker must stop and register again.
        case workerUnknown
        /// A list or a value is malformed. For a list, the message names the line.
        case invalidInput
        /// The destination cannot be used now; a later attempt may succeed.
        case destinationUnreachable
        /// The destination cannot be used without a change by hand, for example because of wrong credentials, missing
        /// rights or a missing folder.
        case destinationRefused
        /// A file operation on this machine failed.
        case disk
        case cancelled
    }

    package var code: Code
    /// A sentence that names the failed operation, without secrets.
    package var message: String
    /// Whether the failure has another cause than the item's file, for example an unreachable store or a full disk. The
    /// attempt of the item then does not count.
    package var blamesNoFile = false
    /// The `SQLSTATE` of PostgreSQL (five characters); `nil` if the database sent none.
    package var sqlState: String?

    package var description: String { message }
    /// Whether the same call may succeed later without a change by hand.
    package var isRetryable: Bool { code == .databaseUnreachable || code == .destinationUnreachable }

    package init(_ code: Code, _ message: String, sqlState: String? = nil) {
        (self.code, self.message, self.sqlState) = (code, message, sqlState)
    }

    func blamingNoFile() -> FleetError {
        var error = self
        error.blamesNoFile = true
        return error
    }
}
