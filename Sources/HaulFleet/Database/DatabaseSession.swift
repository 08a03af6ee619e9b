internal import CLibPQ
internal import Foundation
internal import HaulKit

/// One connection of libpq. Only the thread that made the session may use it. Calls block that thread until the
/// deadline of the current ``DatabaseCall`` at most.
///
/// An error of a statement leaves the session usable. Any other error breaks it and sets ``isBroken``.
final class DatabaseSession {
    let connection: OpaquePointer
    private let waiter: SocketWaiter
    private(set) var isBroken = false

    init(_ settings: DatabaseSettings, waiter: SocketWaiter) throws(FleetError) {
        let parameters = settings.parameters.sorted { $0.key < $1.key }
        let started = CStrings.withPointers(parameters.map(\.key)) { keys in
            CStrings.withPointers(parameters.map(\.value)) { values in
                keys.map { UnsafePointer($0) }.withUnsafeBufferPointer { keys in
                    values.map { UnsafePointer($0) }.withUnsafeBufferPointer {
                        PQconnectStartParams(keys.baseAddress, $0.baseAddress, 0)
                    }
                }
            }
        }
        guard let connection = started else {
            throw FleetError(.databaseUnreachable, "There is no memory for a connection to the database.")
        }
        (self.connection, self.waiter) = (connection, waiter)
        // Drops notices of the server, because libpq would print them to standard error.
        PQsetNoticeProcessor(connection, { _, _ in }, nil)
        // Asks for verbose messages while connecting, because only these contain the SQLSTATE. A failed connection has
        // no separate field for the SQLSTATE.
        PQsetErrorVerbosity(connection, PQERRORS_VERBOSE)
        try finishConnecting(until: .now + settings.connectTimeout)
        PQsetErrorVerbosity(connection, PQERRORS_DEFAULT)
        guard PQsetnonblocking(connection, 1) == 0 else { throw lost() }
    }

    deinit { PQfinish(connection) }

    private func finishConnecting(until limit: ContinuousClock.Instant) throws(FleetError) {
        var state = PGRES_POLLING_WRITING
        while PQstatus(connection) != CONNECTION_BAD, state != PGRES_POLLING_OK, state != PGRES_POLLING_FAILED {
            let isWriting = state == PGRES_POLLING_WRITING
            // Asks libpq for the socket each time, because PQconnectPoll may open another socket.
            try waiting { () throws(FleetError) in
                try waiter.wait(for: PQsocket(connection), reading: !isWriting, writing: isWriting, until: limit)
            }
            state = PQconnectPoll(connection)
        }
        guard state == PGRES_POLLING_OK, PQstatus(connection) == CONNECTION_OK else {
            isBroken = true
            let message = PQerrorMessage(connection).map { String(cString: $0) } ?? ""
            throw FleetError.connecting(message, needsPassword: PQconnectionNeedsPassword(connection) == 1)
        }
    }

    // MARK: Statements

    /// Runs one statement, in the open transaction or in a transaction of its own.
    func execute(_ text: String, _ parameters: [SQLParameter] = []) throws(FleetError) -> DatabaseRows {
        try send(SQLStatement(text, parameters))
        return try finish()
    }

    /// Runs a text of several statements, in the open transaction or as one transaction of its own.
    ///
    /// The text is one message of the simple protocol: the server finds the end of each statement, and skips the
    /// statements after a failed one.
    func execute(script text: String) throws(FleetError) {
        guard text.withCString({ PQsendQuery(connection, $0) }) == 1 else { throw lost() }
        _ = try finish()
    }

    /// Runs statements as one transaction in one round trip, so that no lock is held during a round trip.
    ///
    /// The server runs all statements before the Sync message as one transaction. A failed statement ends the
    /// transaction, and the server skips the rest.
    ///
    /// - Returns: the rows of each statement.
    func pipeline(_ statements: [SQLStatement]) throws(FleetError) -> [DatabaseRows] {
        guard PQenterPipelineMode(connection) == 1 else { throw lost() }
        for statement in statements { try send(statement) }
        guard PQpipelineSync(connection) == 1 else { throw lost() }
        try flush()
        var answers: [DatabaseRows] = []
        var failure: FleetError?
        while true {
            guard let result = try nextResult() else { continue }
            defer { PQclear(result) }
            switch PQresultStatus(result) {
            case PGRES_PIPELINE_SYNC:
                guard PQexitPipelineMode(connection) == 1 else { throw lost() }
                if let failure { throw failure }
                return answers
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY:
                answers.append(DatabaseRows(copying: result))
            case PGRES_PIPELINE_ABORTED: break
            default: failure = failure ?? FleetError(result: result)
            }
        }
    }

    /// Runs `body` between BEGIN and COMMIT, under limits that end with the transaction.
    func transaction<Value>(
        _ limits: TransactionLimits,
        _ body: (DatabaseSession) throws(FleetError) -> Value
    ) throws(FleetError) -> Value {
        _ = try execute("BEGIN")
        let value: Value
        do throws(FleetError) {
            _ = try execute(limits.statement.text, limits.statement.parameters)
            value = try body(self)
        } catch {
            // Throws the first error even if ROLLBACK fails. A failed ROLLBACK breaks the session.
            if !isBroken { do { _ = try execute("ROLLBACK") } catch { isBroken = true } }
            throw error
        }
        _ = try execute("COMMIT")
        return value
    }

    /// Sends rows to `COPY … FROM STDIN`, no faster than the server reads them.
    ///
    /// - Parameter next: returns the next bytes; `nil` after the last.
    /// - Returns: the number of rows that the server accepted.
    func copyIn(
        _ text: String,
        _ next: () throws(FleetError) -> [UInt8]?
    ) throws(FleetError) -> Int {
        try send(SQLStatement(text))
        try expect(PGRES_COPY_IN)
        do throws(FleetError) {
            while let bytes = try next() {
                try put(bytes)
                try flush()
            }
        } catch {
            // Closing the broken connection tells the server that the rows are incomplete.
            isBroken = true
            throw error
        }
        while true {
            let answer = PQputCopyEnd(connection, nil)
            if answer == 1 { break }
            guard answer == 0 else { throw lost() }
            try waitToWrite()
        }
        return try finish().affected
    }

    /// Passes the output of `COPY … TO STDOUT` to `consume`, row by row.
    func copyOut(_ text: String, _ consume: (UnsafeRawBufferPointer) throws(FleetError) -> Void) throws(FleetError) {
        try send(SQLStatement(text))
        try expect(PGRES_COPY_OUT)
        while true {
            var buffer: UnsafeMutablePointer<CChar>?
            let length = PQgetCopyData(connection, &buffer, 1)
            if let buffer {
                defer { PQfreemem(buffer) }
                do throws(FleetError) {
                    try consume(UnsafeRawBufferPointer(start: buffer, count: Int(max(0, length))))
                } catch {
                    isBroken = true
                    throw error
                }
                continue
            }
            switch length {
            case 0: try waitToRead()
            case -1:
                _ = try finish()
                return
            default: throw lost()
            }
        }
    }

    /// Reads pending input between calls. Sets ``isBroken`` if the server has closed the connection.
    func checkIdle() {
        // Takes several steps, because libpq reads the server's last message and the end of the connection separately.
        for _ in 0..<16 {
            var socket = pollfd(fd: PQsocket(connection), events: Int16(POLLIN), revents: 0)
            guard poll(&socket, 1, 0) > 0 else { break }
            if PQconsumeInput(connection) == 0 { isBroken = true }
            if isBroken { break }
        }
        if PQstatus(connection) != CONNECTION_OK { isBroken = true }
    }

    // MARK: Steps

    private func send(_ statement: SQLStatement) throws(FleetError) {
        let parameters = statement.parameters
        let sent: Int32 = statement.text.withCString { text in
            // All values share one buffer; a NUL ends each.
            var bytes: [UInt8] = []
            let starts = parameters.map { parameter -> Int? in
                guard let value = parameter.text else { return nil }
                defer { bytes += value + [0] }
                return bytes.count
            }
            return bytes.withUnsafeBytes { bytes in
                let values = starts.map { start in
                    start.flatMap { bytes.baseAddress?.advanced(by: $0).assumingMemoryBound(to: CChar.self) }
                }
                return values.withUnsafeBufferPointer {
                    PQsendQueryParams(connection, text, Int32($0.count), nil, $0.baseAddress, nil, nil, 0)
                }
            }
        }
        guard sent == 1 else { throw lost() }
    }

    /// Sends the output buffer of libpq and reads all results of the statement.
    private func finish() throws(FleetError) -> DatabaseRows {
        try flush()
        var rows = DatabaseRows.none
        var failure: FleetError?
        while let result = try nextResult() {
            defer { PQclear(result) }
            switch PQresultStatus(result) {
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: rows = DatabaseRows(copying: result)
            case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH:
                isBroken = true
                throw FleetError(.statementFailed, "A statement began a COPY where none was expected.")
            default: failure = failure ?? FleetError(result: result)
            }
        }
        if PQstatus(connection) != CONNECTION_OK { isBroken = true }
        if let failure { throw failure }
        return rows
    }

    private func expect(_ status: ExecStatusType) throws(FleetError) {
        try flush()
        guard let result = try nextResult() else { throw lost() }
        let actual = PQresultStatus(result)
        let failure = actual == status ? nil : FleetError(result: result)
        PQclear(result)
        guard let failure else { return }
        while let rest = try nextResult() { PQclear(rest) }
        throw failure
    }

    private func nextResult() throws(FleetError) -> OpaquePointer? {
        while PQisBusy(connection) == 1 { try waitToRead() }
        return PQgetResult(connection)
    }

    private func put(_ bytes: [UInt8]) throws(FleetError) {
        while true {
            let answer = bytes.withUnsafeBytes {
                PQputCopyData(
                    connection,
                    $0.baseAddress?.assumingMemoryBound(to: CChar.self),
                    Int32(clamping: $0.count)
                )
            }
            if answer == 1 { return }
            guard answer == 0 else { throw lost() }
            try waitToWrite()
        }
    }

    /// Sends the output buffer of libpq and reads input meanwhile, because a server that cannot send its answers stops
    /// reading statements.
    private func flush() throws(FleetError) {
        while true {
            switch PQflush(connection) {
            case 0: return
            case 1: try waitToWrite()
            default: throw lost()
            }
        }
    }

    private func waitToWrite() throws(FleetError) {
        let isReadable = try waiting { () throws(FleetError) in
            try waiter.wait(for: PQsocket(connection), reading: true, writing: true)
        }
        if isReadable, PQconsumeInput(connection) == 0 { throw lost() }
    }

    private func waitToRead() throws(FleetError) {
        _ = try waiting { () throws(FleetError) in
            try waiter.wait(for: PQsocket(connection), reading: true, writing: false)
        }
        if PQconsumeInput(connection) == 0 { throw lost() }
    }

    /// Runs a wait for the socket. A failed wait breaks the session, because the answer of the server is still pending.
    @discardableResult
    private func waiting(_ body: () throws(FleetError) -> Bool) throws(FleetError) -> Bool {
        do throws(FleetError) { return try body() } catch {
            isBroken = true
            throw error
        }
    }

    private func lost() -> FleetError {
        isBroken = true
        let message = PQerrorMessage(connection).map { String(cString: $0) } ?? ""
        return FleetError(.databaseUnreachable, "The connection to the database was lost: \(message.firstLine).")
    }
}

/// Limits that the server enforces for one transaction. Each transaction sets its own limits, because PgBouncer in
/// transaction mode would pass a session setting to the next client.
struct TransactionLimits: Sendable, Hashable {
    /// Longest time that one statement may run. PostgreSQL cancels it then (`statement_timeout`).
    var statementTimeout: Duration
    /// Limit for a statement's wait for one lock.
    var lockTimeout: Duration

    static let standard = TransactionLimits(statementTimeout: .seconds(10), lockTimeout: .seconds(2))
    static let loading = TransactionLimits(statementTimeout: .seconds(600), lockTimeout: .seconds(60))

    /// Sets the limits. Also turns `synchronous_commit` on if the database has turned it off, because a crash of the
    /// server would then silently lose committed transactions.
    var statement: SQLStatement {
        SQLStatement(
            """
            SELECT set_config('statement_timeout', $1, true), set_config('lock_timeout', $2, true),
                set_config('idle_in_transaction_session_timeout', '10000', true),
                CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END
            """,
            [.int(statementTimeout.wholeMilliseconds), .int(lockTimeout.wholeMilliseconds)]
        )
    }
}

extension Duration {
    /// Milliseconds, rounded up and limited to the range from 0 to 10¹².
    var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        guard seconds < 1_000_000_000 else { return 1_000_000_000_000 }
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        return seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    }
}
