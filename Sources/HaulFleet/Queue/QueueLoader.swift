internal import Crypto
internal import HaulKit

/// Adds items to a queue. Any number of loaders may run at once. Items whose key is in the queue already are not added
/// again.
///
/// A loader copies each chunk into a temporary table and adds it to the queue in one transaction. A loader that ends
/// early leaves whole chunks; loading the same list again adds the rest.
package struct QueueLoader: Sendable {
    /// Number of items that one transaction adds.
    package static let standardChunk = 50_000
    /// Number of item numbers, from the next free one on, that get a partition before a chunk is added.
    private static let itemsAhead: Int64 = 5_000_000

    package struct Result: Sendable, Hashable, Codable {
        package var added: Int64 = 0
        /// Number of items that were in the queue already or earlier in the list.
        package var present: Int64 = 0

        package init(added: Int64 = 0, present: Int64 = 0) {
            (self.added, self.present) = (added, present)
        }
    }

    private let connection: DatabaseConnection
    private let queue: QueueName
    private let chunk: Int
    private let checksKeys: Bool

    /// - Parameter checksKeys: `false` to add items without looking for their keys in the queue. Only chunks with exactly
    ///   the same keys are then added once, so a list that was added before is added again if it has changed.
    package init(
        _ connection: DatabaseConnection,
        _ queue: QueueName,
        chunk: Int = Self.standardChunk,
        checksKeys: Bool = true
    ) {
        (self.connection, self.queue, self.chunk, self.checksKeys) = (connection, queue, max(1, chunk), checksKeys)
    }

    /// Adds items. Reads the next chunk while the database processes the previous one.
    ///
    /// - Parameter progress: called after each chunk with the counts so far.
    /// - Throws: ``FleetError`` and the errors of `items`. The completed chunks stay in the queue.
    package func add<Items: AsyncSequence & Sendable>(
        _ items: Items,
        progress: @Sendable (Result) -> Void = { _ in }
    ) async throws -> Result where Items.Element == NewItem {
        var result = Result()
        var rows = LoadRows()
        // Loads at most one chunk while it reads another, so memory holds at most two chunks.
        var underWay: Task<Result, any Error>?
        defer { underWay?.cancel() }

        func settle() async throws {
            guard let task = underWay else { return }
            let chunk = try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
            underWay = nil
            result.added += chunk.added
            result.present += chunk.present
            progress(result)
        }
        for try await item in items {
            try rows.append(item)
            guard rows.count >= chunk else { continue }
            try await settle()
            let full = rows
            rows = LoadRows()
            underWay = Task { try await load(full) }
        }
        try await settle()
        if rows.count > 0 {
            let last = try await load(rows)
            result.added += last.added
            result.present += last.present
            progress(result)
        }
        return result
    }

    /// Adds one chunk in one transaction.
    private func load(_ rows: LoadRows) async throws(FleetError) -> Result {
        let queue = queue
        let digest = checksKeys ? nil : rows.digest
        if let digest, try await hasChunk(digest) { return Result(present: Int64(rows.count)) }
        try await makePartitions()
        let added = try await connection.transaction(.loading) { session throws(FleetError) in
            _ = try session.execute(LoadRows.table)
            var pieces = rows.pieces[...]
            let copied = try session.copyIn("COPY pg_temp.staged FROM STDIN") { () throws(FleetError) in
                pieces.popFirst()
            }
            guard copied == rows.count else {
                throw FleetError(.statementFailed, "The database took \(copied) of \(rows.count) rows.")
            }
            let rows =
                if let digest { try session.execute("SELECT \(queue.quoted).load($1::uuid)", [.text(digest)]) } else {
                    try session.execute("SELECT \(queue.quoted).load()")
                }
            return try rows.first?.int(0, as: Int64.self) ?? 0
        }
        // `load()` adds each row at most once.
        let taken = min(max(added, 0), Int64(rows.count))
        return Result(added: taken, present: Int64(rows.count) - taken)
    }

    /// Whether the queue has a chunk with these keys, so that its rows need not be sent.
    private func hasChunk(_ digest: String) async throws(FleetError) -> Bool {
        let text = "SELECT EXISTS (SELECT 1 FROM \(queue.quoted).chunk_seen WHERE digest = $1::uuid)"
        return try await connection.run(text, [.text(digest)]).first?.bool(0) ?? false
    }

    /// Makes partitions ahead of the next item number.
    private func makePartitions() async throws(FleetError) {
        let name = queue.quoted
        let row = try await connection.run("SELECT next_item, partitioned_to FROM \(name).numbering").first
        guard let row else { throw FleetError(.databaseRefused, "The queue is damaged: its numbering is empty.") }
        let (next, end) = (try row.int(0, as: Int64.self), try row.int(1, as: Int64.self))
        let needed = next.addingClamped(Self.itemsAhead)
        guard needed > end else { return }
        _ = try await connection.run("SELECT \(name).make_partitions($1)", [.int(needed)], .loading)
    }
}

/// Encodes rows for COPY in text format.
struct LoadRows: Sendable {
    static let table = """
        CREATE TEMPORARY TABLE staged (place integer NOT NULL, url_key uuid NOT NULL, host text NOT NULL,
            prio smallint NOT NULL, size bigint, key text, url text NOT NULL, path text NOT NULL, checksum text,
            metadata text, mirrors text, validator text) ON COMMIT DROP
        """

    /// Encoded rows in the order of the list, in pieces of about 256 KiB.
    private(set) var pieces: [[UInt8]] = []
    private(set) var count = 0
    private var hosts = HostCache()
    private var keys = SHA256()

    /// The first half of the SHA-256 of all keys in their order, as a `uuid`.
    var digest: String { Array(keys.finalize().prefix(16)).hexadecimal }

    private static let pieceSize = 256 * 1024

    /// - Throws: ``FleetError/Code/invalidInput`` for an item that the queue cannot store.
    mutating func append(_ item: NewItem) throws(FleetError) {
        guard let host = hosts.name(of: item.url) else {
            throw FleetError(.invalidInput, "This is not an http or https URL: \(item.url.prefix(200))")
        }
        let (key, path) = (item.resolvedKey, item.resolvedPath)
        var row: [UInt8] = []
        if let last = pieces.last, last.count < Self.pieceSize {
            // Moves the last piece out of the array during the write, so that Swift does not copy its bytes.
            swap(&row, &pieces[pieces.count - 1])
            pieces.removeLast()
        } else {
            row.reserveCapacity(Self.pieceSize + 4096)
        }
        defer { pieces.append(row) }
        Self.write(Int64(count), &row)
        writeKey(key, &row)
        row.append(UInt8(ascii: "\t"))
        try Self.write(host, &row)
        Self.write(Int64(item.priority), &row)
        try Self.write(item.size.map(String.init), &row)
        try Self.write(item.key == item.url ? nil : item.key, &row)
        try Self.write(item.url, &row)
        try Self.write(path, &row)
        try Self.write(item.checksum, &row)
        try Self.write(item.metadata, &row)
        try Self.write(item.mirrors.isEmpty ? nil : item.mirrors.joined(separator: " "), &row)
        try Self.write(item.validator, &row)
        row[row.count - 1] = UInt8(ascii: "\n")
        count += 1
    }

    /// Writes the first half of the key's SHA-256 as a `uuid`.
    private mutating func writeKey(_ key: String, _ row: inout [UInt8]) {
        var key = key
        let digest = key.withUTF8 { SHA256.hash(data: UnsafeRawBufferPointer($0)) }
        digest.withUnsafeBytes { keys.update(bufferPointer: $0) }
        let digits = StaticHexadecimal.digits
        for byte in digest.prefix(16) {
            row.append(digits[Int(byte >> 4)])
            row.append(digits[Int(byte & 15)])
        }
    }

    private static func write(_ number: Int64, _ row: inout [UInt8]) {
        row.append(contentsOf: String(number).utf8)
        row.append(UInt8(ascii: "\t"))
    }

    private static func write(_ text: String?, _ row: inout [UInt8]) throws(FleetError) {
        guard var text else {
            row.append(UInt8(ascii: "\\"))
            row.append(UInt8(ascii: "N"))
            row.append(UInt8(ascii: "\t"))
            return
        }
        let isValid = text.withUTF8 { bytes in
            for byte in bytes {
                switch byte {
                case 0: return false
                case UInt8(ascii: "\\"): row.append(UInt8(ascii: "\\")); row.append(byte)
                case UInt8(ascii: "\t"): row.append(UInt8(ascii: "\\")); row.append(UInt8(ascii: "t"))
                case UInt8(ascii: "\n"): row.append(UInt8(ascii: "\\")); row.append(UInt8(ascii: "n"))
                case UInt8(ascii: "\r"): row.append(UInt8(ascii: "\\")); row.append(UInt8(ascii: "r"))
                default: row.append(byte)
                }
            }
            return true
        }
        guard isValid else {
            throw FleetError(
                .invalidInput,
                "A text holds the character NUL, which the queue cannot: \(text.prefix(200))"
            )
        }
        row.append(UInt8(ascii: "\t"))
    }
}

private enum StaticHexadecimal {
    static let digits = Array("0123456789abcdef".utf8)
}

/// Caches the host of the last item, because neighbouring items usually share a host and parsing the URL is the most
/// expensive step.
private struct HostCache: Sendable {
    private var origin = ""
    private var host: String?

    mutating func name(of url: String) -> String? {
        // The origin ends at the third slash. URLs without that slash are parsed each time.
        if !origin.isEmpty, url.utf8.starts(with: origin.utf8) { return host }
        guard let scheme = url.firstRange(of: "://"),
            S3Object.hasScheme(url) || ["http", "https"].contains(url[..<scheme.lowerBound].lowercased())
        else { return nil }
        host = HostName(url: url)?.text
        let rest = url[scheme.upperBound...]
        if let slash = rest.firstIndex(of: "/"),
            rest[..<slash].utf8.allSatisfy({ $0 > 32 && !Self.special.contains($0) })
        {
            origin = String(url[...slash])
        } else {
            origin = ""
        }
        return host
    }

    /// Characters that may end a host or precede one.
    private static let special = Set("?#@\\".utf8)
}
