/// Why the queue or the destination cannot be used: a sentence, and whether a later attempt may succeed.
package struct FleetError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable, Hashable, Codable, CaseIterable {
        /// The database cannot be reached now, or has ended the connection. Whether the last statement took effect is unknown.
        case databaseUnreachable
        /// The database refuses: credentials, rights, a missing schema, another version of it.
        case databaseRefused
        /// A statement failed in a way that a repetition does not mend.
        case statementFailed
        /// The database does not know the worker any more, or holds it for dead: it must stop and register again.
        case workerUnknown
        /// A list or a value that cannot be read; the message names the line.
        case invalidInput
        /// The destination cannot be used now.
        case destinationUnreachable
        /// The destination refuses: credentials, rights, a full quota.
        case destinationRefused
        /// The disk of this machine.
        case disk
        /// The call was cancelled.
        case cancelled
    }

    package var code: Code
    /// A sentence that names what was tried, without secrets.
    package var message: String
    /// Whether no file is to blame, whatever file it was about: the store cannot be reached, a disk is full. An item keeps its attempt.
    package var blamesNoFile = false
    /// Five characters of PostgreSQL (`SQLSTATE`), where the database said them.
    package var sqlState: String?

    package var description: String { message }
    /// Whether the same call may succeed later without anything being changed by hand.
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
