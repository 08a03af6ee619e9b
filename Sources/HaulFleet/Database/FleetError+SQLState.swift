internal import CLibPQ

extension FleetError {
    /// The queue's functions raise this state for a worker that does not count as alive.
    static let workerUnknownState = "HF001"
    /// The queue's functions raise this state if the schema has another version than the caller.
    static let versionState = "HF002"
    /// Conflicts between transactions: serialization failure, deadlock, lock not available. A call repeats its
    /// transaction after these.
    static let conflictStates: Set = ["40001", "40P01", "55P03"]

    /// Makes the error of a failed statement.
    ///
    /// - Parameter message: the server's primary message. The detail is omitted because it may hold values.
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
        // Classes: 08 connection, 53 resources, 57 operator intervention, 58 system error of the server.
        case _ where ["08", "53", "57", "58"].contains(sqlState.prefix(2)):
            self.init(.databaseUnreachable, "The database cannot be used now (\(message)).", sqlState: sqlState)
        default:
            self.init(.statementFailed, "The database refused a statement: \(message).", sqlState: sqlState)
        }
    }

    /// Makes the error of a failed result.
    ///
    /// - Parameter result: a `PGresult`, which the caller clears.
    init(result: OpaquePointer) {
        let state = PQresultErrorField(result, Int32(UInt8(ascii: "C"))).map { String(cString: $0) }
        let message = PQresultErrorField(result, Int32(UInt8(ascii: "M"))).map { String(cString: $0) }
        guard let state else {
            // Errors of libpq itself have no SQLSTATE: a lost connection, or an answer that libpq does not understand.
            let text = PQresultErrorMessage(result).map { String(cString: $0) } ?? ""
            self.init(.databaseUnreachable, "The connection to the database was lost: \(text.firstLine).")
            return
        }
        self.init(sqlState: state, message: message ?? "")
    }

    /// Makes the error of a failed attempt to connect.
    ///
    /// - Parameters:
    ///   - message: libpq's verbose message, in which each line of the server contains its SQLSTATE.
    ///   - needsPassword: whether the server asked for a password and none was given.
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
        // libpq's own messages are in English, because this process never calls setlocale(3).
        let concernsTLS = ["SSL", "certificate", "root.crt"].contains { text.contains($0) }
        let wasClosed = text.contains("closed") || text.contains("SYSCALL")
        return concernsTLS && !wasClosed
            ? FleetError(.databaseRefused, "No trusted connection to the database: \(text).")
            : FleetError(.databaseUnreachable, "The database cannot be reached: \(text).")
    }

    /// Finds the SQLSTATE and the message in a line like `FATAL:  28P01: text`.
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
