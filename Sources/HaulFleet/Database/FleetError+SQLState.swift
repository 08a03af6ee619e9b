internal import CLibPQ

extension FleetError {
    /// Raised by the queue's functions for a worker that does not count as alive.
    static let workerUnknownState = "HF001"
    /// Raised by the queue's functions where the schema has another version than the caller.
    static let versionState = "HF002"
    /// What is repeated inside of a call: the transaction met another one, and a repetition may not.
    static let conflictStates: Set = ["40001", "40P01", "55P03"]

    /// The error of a statement.
    ///
    /// - Parameter message: the primary message of the server; its detail may hold values and is left out.
    init(sqlState: String, message: String) {
        let message = message.isEmpty ? "no message" : message
        switch sqlState {
        case Self.workerUnknownState:
            self.init(.workerUnknown, "The queue does not know this worker, or holds it for dead.", sqlState: sqlState)
        case Self.versionState:
            self.init(.databaseRefused, message, sqlState: sqlState)
        case "3F000", "42P01", "42883":
            self.init(
                .databaseRefused,
                "The queue is not in the database (\(message)): run haul-fleet init.",
                sqlState: sqlState
            )
        case "3D000", "57P04":
            self.init(
                .databaseRefused,
                "The database is missing (\(message)): create it, then run haul-fleet init.",
                sqlState: sqlState
            )
        case "42501":
            self.init(
                .databaseRefused,
                "The database role lacks a right (\(message)): run haul-fleet init --worker-role (or --loader-role, --reader-role) for it.",
                sqlState: sqlState
            )
        case _ where sqlState.hasPrefix("28"):
            self.init(
                .databaseRefused,
                "The database refuses the user or the password (\(message)).",
                sqlState: sqlState
            )
        case "57014":
            self.init(
                .databaseUnreachable,
                "The database did not finish a statement in time (\(message)).",
                sqlState: sqlState
            )
        case "25006", "55000":
            self.init(.databaseUnreachable, "The server is a standby now (\(message)).", sqlState: sqlState)
        case _ where Self.conflictStates.contains(sqlState):
            self.init(
                .databaseUnreachable,
                "The database is busy: a statement met others again and again (\(message)).",
                sqlState: sqlState
            )
        // 08 connection, 53 resources, 57 intervention of an operator, 58 error of the server's system.
        case _ where ["08", "53", "57", "58"].contains(sqlState.prefix(2)):
            self.init(.databaseUnreachable, "The database cannot be used now (\(message)).", sqlState: sqlState)
        default:
            self.init(.statementFailed, "The database refused a statement: \(message).", sqlState: sqlState)
        }
    }

    /// The error of a failed result.
    ///
    /// - Parameter result: not null; it stays the caller's.
    init(result: OpaquePointer) {
        let state = PQresultErrorField(result, Int32(UInt8(ascii: "C"))).map { String(cString: $0) }
        let message = PQresultErrorField(result, Int32(UInt8(ascii: "M"))).map { String(cString: $0) }
        guard let state else {
            // An error of libpq itself has no SQLSTATE: it has lost the connection or does not understand the server.
            let text = PQresultErrorMessage(result).map { String(cString: $0) } ?? ""
            self.init(.databaseUnreachable, "The connection to the database was lost: \(text.firstLine).")
            return
        }
        self.init(sqlState: state, message: message ?? "")
    }

    /// The error of a connection that was not made.
    ///
    /// - Parameters:
    ///   - message: of libpq in verbose form, in which each line of the server bears its SQLSTATE.
    ///   - needsPassword: whether the server asked for a password that was not given.
    static func connecting(_ message: String, needsPassword: Bool) -> FleetError {
        let lines = message.split(whereSeparator: \.isNewline).map(String.init).filter { !$0.hasPrefix("LOCATION") }
        let states = lines.compactMap(sqlState(inLine:))
        if needsPassword {
            return FleetError(
                .databaseRefused,
                "The database asks for a password: name it in PGPASSWORD or in ~/.pgpass.",
                sqlState: states.last?.state
            )
        }
        if let last = states.last { return FleetError(sqlState: last.state, message: last.message) }
        let text = lines.first ?? "no message"
        // Messages of libpq itself are in English: this process never calls setlocale(3).
        let concernsTLS = ["SSL", "certificate", "root.crt"].contains { text.contains($0) }
        let wasClosed = text.contains("closed") || text.contains("SYSCALL")
        return concernsTLS && !wasClosed
            ? FleetError(.databaseRefused, "No trusted connection to the database: \(text).")
            : FleetError(.databaseUnreachable, "The database cannot be reached: \(text).")
    }

    /// Finds `:  28P01: text` in a line.
    private static func sqlState(inLine line: String) -> (state: String, message: String)? {
        guard let found = line.firstMatch(of: /:  ([0-9A-Z]{5}): (.*)$/) else { return nil }
        return (String(found.1), String(found.2))
    }
}

extension String {
    var firstLine: String {
        split(whereSeparator: \.isNewline).first.map(String.init) ?? "no message"
    }
}
