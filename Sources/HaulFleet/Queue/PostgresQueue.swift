internal import HaulKit
internal import Synchronization

/// The queue in a PostgreSQL schema. Workers call the functions of the schema and need no other rights.
///
/// Beats and other short calls have a connection of their own, so that a beat never waits behind a large report.
package final class PostgresQueue: LeaseQueue {
    let work: DatabaseConnection
    let beats: DatabaseConnection
    let name: QueueName
    private let claims = Mutex(ClaimNumbers())
    private let flushed = Mutex<[WorkerID: Int64]>([:])

    package init(_ settings: DatabaseSettings, name: QueueName = .standard) {
        (work, beats) = (DatabaseConnection(settings), DatabaseConnection(settings))
        self.name = name
    }

    /// Closes both connections. Later calls fail with ``FleetError/Code/cancelled``.
    package func close() {
        work.close()
        beats.close()
    }

    func function(_ call: String) -> String { "SELECT * FROM \(name.quoted).\(call)" }

    // MARK: Workers

    func register(label: String, predecessor: WorkerID?) async throws(FleetError) -> Registration {
        let (register, held) = (function("register($1, $2, $3)"), function("held($1, NULL)"))
        return try await beats.transaction { session throws(FleetError) in
            let parameters: [SQLParameter] = [.int(SchemaInstaller.version), .text(label), .int(predecessor)]
            guard let row = try session.execute(register, parameters).first else { throw Self.noAnswer }
            let worker = try row.int(0, as: WorkerID.self)
            let leases = try session.execute(held, [.int(worker)]).map { row throws(FleetError) in try LeasedItem(row) }
            return Registration(worker: worker, leaseTime: .seconds(try row.int(1, as: Int64.self)), leases: leases)
        }
    }

    func beat(_ worker: WorkerID) async throws(FleetError) -> Beat {
        let rows = try await beats.run(function("beat($1)"), [.int(worker)])
        guard let first = rows.first else { throw Self.noAnswer }
        try checkHistory(worker, flushed: try first.int(3))
        var beat = Beat(leaseTime: .seconds(try first.int(0, as: Int64.self)))
        (beat.isPaused, beat.isDraining) = (try first.bool(1), try first.bool(2))
        for row in rows.dropFirst() {
            if row.isNull(4) {
                beat.cancelled.append(LeaseKey(item: try row.int(6), epoch: try row.int(7)))
            } else {
                beat.blockedHosts[try row.int(4)] = try row.milliseconds(5)
            }
        }
        return beat
    }

    /// Throws if the write-ahead log is shorter than at an earlier beat. Such a server was restored from an older copy
    /// and has lost results that it accepted since. The worker must register again, so that its items return to the
    /// queue.
    private func checkHistory(_ worker: WorkerID, flushed position: Int64) throws(FleetError) {
        let isOlder = flushed.withLock { flushed in
            defer { flushed[worker] = max(position, flushed[worker] ?? position) }
            return position < flushed[worker] ?? position
        }
        if isOlder { throw FleetError(.workerUnknown, "The database was replaced by an older copy of itself.") }
    }

    func leave(_ worker: WorkerID) async throws(FleetError) {
        _ = try await work.run(function("leave($1)"), [.int(worker)])
        flushed.withLock { _ = $0.removeValue(forKey: worker) }
        claims.withLock { $0.forget(worker) }
    }

    // MARK: Items

    func claim(_ worker: WorkerID, limit: Int) async throws(FleetError) -> Claim {
        let number = claims.withLock { $0.next(worker) }
        let rows: DatabaseRows
        do throws(FleetError) {
            rows = try await work.run(function("claim($1, $2, $3)"), [.int(worker), .int(number), .int(limit)])
        } catch {
            // The claim may have taken effect, so the next claim reuses its number.
            claims.withLock { $0.failed(worker, number) }
            throw error
        }
        guard let first = rows.first, first.isNull(0) else {
            return Claim(leases: try rows.map { row throws(FleetError) in try LeasedItem(row) })
        }
        return Claim(
            isDrained: try first.bool(13),
            isPaused: try first.bool(14),
            isExhausted: try first.bool(16),
            nextDue: try first.optionalInt(15, as: Int64.self).map { .milliseconds($0) }
        )
    }

    func gate(_ worker: WorkerID, _ keys: [LeaseKey]) async throws(FleetError) -> Set<LeaseKey> {
        guard !keys.isEmpty else { return [] }
        let parameters: [SQLParameter] = [.int(worker), .ints(keys.map(\.item)), .ints(keys.map(\.epoch))]
        return try Self.keys(try await work.run(function("gate($1, $2, $3)"), parameters))
    }

    func recordUpload(_ worker: WorkerID, _ key: LeaseKey, uploadID: String) async throws(FleetError) -> Bool {
        let parameters: [SQLParameter] = [.int(worker), .int(key.item), .int(key.epoch), .text(uploadID)]
        guard let row = try await work.run(function("record_upload($1, $2, $3, $4)"), parameters).first else {
            throw Self.noAnswer
        }
        return try row.bool(0)
    }

    func report(_ worker: WorkerID, _ reports: [Report]) async throws(FleetError) -> Set<LeaseKey> {
        guard !reports.isEmpty else { return [] }
        let parameters = [.int(worker)] + ReportColumns(reports).parameters
        let call = "report($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
        return try Self.keys(try await work.run(function(call), parameters))
    }

    // MARK: Hosts

    func reserve(hostID: Int32, requests: Int) async throws(FleetError) -> RequestSlice {
        let rows = try await work.run(function("reserve($1, $2)"), [.int(hostID), .int(Int32(clamping: requests))])
        guard let row = rows.first else { return RequestSlice(startsAfter: .zero, gap: .zero) }
        return RequestSlice(startsAfter: try row.milliseconds(0), gap: try row.milliseconds(1))
    }

    func hostLimits(_ name: String) async throws(FleetError) -> HostLimits? {
        guard let row = try await beats.run(function("host_limits($1)"), [.text(name)]).first else { return nil }
        return HostLimits(
            hostID: try row.int(0),
            gap: try row.milliseconds(1),
            isLimited: try row.bool(2),
            blocked: try row.milliseconds(3)
        )
    }

    func block(hostID: Int32, for duration: Duration) async throws(FleetError) {
        let milliseconds = min(duration.wholeMilliseconds, 86_400_000)
        _ = try await beats.run(function("block($1, $2)"), [.int(hostID), .int(milliseconds)])
    }

    // MARK: Maintenance

    func maintain() async throws(FleetError) -> Maintenance {
        var done = Maintenance()
        // Each step is a transaction of its own, so that its locks end before the next step.
        for row in try await work.run(function("reap()")) {
            done.lostWorkers.append(try row.int(0))
            done.returnedItems = done.returnedItems.addingClamped(try row.int(1, as: Int.self))
        }
        for _ in 0..<20 {
            let count: Int = try await number("promote(1000)")
            done.promotedItems = done.promotedItems.addingClamped(count)
            if count < 1000 { break }
        }
        done.fedItems = try await number("feed()")
        _ = try await work.run(function("tidy()"))
        return done
    }

    private func number(_ call: String) async throws(FleetError) -> Int {
        guard let row = try await work.run(function(call)).first else { throw Self.noAnswer }
        return try row.int(0)
    }

    func finished(_ items: [Int64]) async throws(FleetError) -> Set<Int64> {
        guard !items.isEmpty else { return [] }
        var finished: Set<Int64> = []
        for row in try await work.run(function("finished($1)"), [.ints(items)]) { finished.insert(try row.int(0)) }
        return finished
    }

    func orphanUploads(limit: Int) async throws(FleetError) -> [OrphanUpload] {
        try await work.run(function("take_orphans($1)"), [.int(limit)]).map { row throws(FleetError) in
            OrphanUpload(item: try row.int(0), path: try row.text(1), uploadID: try row.text(2))
        }
    }

    func forget(_ uploads: [OrphanUpload]) async throws(FleetError) {
        guard !uploads.isEmpty else { return }
        let parameters: [SQLParameter] = [.ints(uploads.map(\.item)), .texts(uploads.map(\.uploadID))]
        _ = try await work.run(function("forget_orphans($1, $2)"), parameters)
    }

    // MARK: Answers

    static let noAnswer = FleetError(.statementFailed, "The database answered without a row.")

    static func keys(_ rows: DatabaseRows) throws(FleetError) -> Set<LeaseKey> {
        var keys: Set<LeaseKey> = []
        for row in rows { keys.insert(LeaseKey(item: try row.int(0), epoch: try row.int(1))) }
        return keys
    }
}

/// Numbers the claims of each worker. A number whose answer was lost is reused, and the database repeats that answer.
private struct ClaimNumbers: Sendable {
    private var last: [WorkerID: Int32] = [:]
    private var unanswered: [WorkerID: [Int32]] = [:]

    mutating func next(_ worker: WorkerID) -> Int32 {
        if let number = unanswered[worker]?.popLast() { return number }
        // Begins at 1, because leases taken over at registration have the number 0.
        last[worker, default: 0] += 1
        return last[worker, default: 1]
    }

    mutating func failed(_ worker: WorkerID, _ number: Int32) { unanswered[worker, default: []].append(number) }

    mutating func forget(_ worker: WorkerID) {
        last.removeValue(forKey: worker)
        unanswered.removeValue(forKey: worker)
    }
}

extension LeasedItem {
    /// Reads a row of the type `granted`.
    fileprivate init(_ row: DatabaseRow) throws(FleetError) {
        self.init(
            key: LeaseKey(item: try row.int(0), epoch: try row.int(1)),
            url: try row.text(2),
            path: try row.text(3),
            checksum: row.optionalText(4),
            size: try row.optionalInt(5),
            metadata: row.optionalText(6),
            hostID: try row.int(7),
            attempt: try row.int(8),
            connections: try row.optionalInt(9),
            gap: try row.milliseconds(10),
            startsAfter: try row.optionalInt(11, as: Int64.self).map { .milliseconds($0) },
            uploadID: row.optionalText(12),
            mirrors: row.optionalText(17).map(RawItem.mirrors) ?? [],
            validator: row.optionalText(18)
        )
    }
}

/// Collects reports into one array per parameter of the SQL function.
private struct ReportColumns {
    private var (outcomes, bytes, delays): ([Int16], [Int64?], [Int64?]) = ([], [], [])
    private var digests: [[UInt8]?] = []
    private var (tags, kinds, messages): ([String?], [String?], [String?]) = ([], [], [])
    private var validators: [String?] = []
    private let keys: [LeaseKey]

    init(_ reports: [Report]) {
        keys = reports.map(\.key)
        for report in reports {
            switch report.outcome {
            case .completed(let file): add(0, file: file, validator: file.validator)
            case .unchanged(let validator): add(0, validator: validator)
            case .failed(let failure): add(1, failure: failure)
            case .retry(let failure, let delay): add(2, failure: failure, delay: delay)
            case .returned: add(3)
            }
        }
    }

    private mutating func add(
        _ outcome: Int16,
        file: CompletedFile? = nil,
        failure: Failure? = nil,
        delay: Duration? = nil,
        validator: String? = nil
    ) {
        outcomes.append(outcome)
        bytes.append(file?.bytes)
        digests.append(file?.sha256)
        tags.append(file?.tag)
        kinds.append(failure?.kind)
        // Limits the stored reason, because a server may send a whole page as its reason.
        messages.append(failure.map { String($0.message.prefix(500)) })
        delays.append(delay?.wholeMilliseconds)
        validators.append(validator)
    }

    var parameters: [SQLParameter] {
        [
            .ints(keys.map(\.item)), .ints(keys.map(\.epoch)), .ints(outcomes), .ints(bytes), .byteArrays(digests),
            .texts(tags), .texts(kinds), .texts(messages), .ints(delays), .texts(validators),
        ]
    }
}
