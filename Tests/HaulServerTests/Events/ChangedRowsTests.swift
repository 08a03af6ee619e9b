import HaulKit
import Testing

@testable import HaulServer

/// Tests that a listener gets all changes since any revision as one merged delta.
@Suite struct ChangedRowsTests {
    private let a = DownloadID()
    private let b = DownloadID()

    @Test func aRowThatAListenerDoesNotKnowIsWhole() throws {
        var rows = ChangedRows()
        let start = rows.revision
        rows.update(a, ["name": "x", "speed": 1])
        rows.update(a, ["name": "x", "speed": 2])
        #expect(rows.delta(since: start)?.rows == [a.description: ["name": "x", "speed": 2]])
    }

    @Test func onlyChangedFieldsAreTold() throws {
        var rows = ChangedRows()
        rows.update(a, ["name": "x", "speed": 1, "error": "e"])
        rows.update(b, ["name": "y"])
        let seen = rows.revision
        rows.update(a, ["name": "x", "speed": 2])
        rows.update(b, ["name": "y"])
        #expect(rows.delta(since: seen)?.rows == [a.description: ["speed": 2, "error": .null]])
        #expect(rows.delta(since: rows.revision)?.isEmpty == true)
    }

    @Test func aFieldThatWasClearedAndSetAgainHasItsLastValue() throws {
        var rows = ChangedRows()
        rows.update(a, ["retryAt": "1"])
        let seen = rows.revision
        rows.update(a, [:])
        rows.update(a, ["retryAt": "2"])
        #expect(rows.delta(since: seen)?.rows == [a.description: ["retryAt": "2"]])
    }

    @Test func aRemovedRowIsNamedAndNotTold() throws {
        var rows = ChangedRows()
        rows.update(a, ["name": "x"])
        let seen = rows.revision
        rows.update(a, ["name": "z"])
        rows.remove(a)
        let delta = try #require(rows.delta(since: seen))
        #expect(delta.rows.isEmpty && delta.removed == [a.description])
    }

    /// After `ChangedRows` has evicted a row, a listener may still know fields that the row has lost since.
    @Test func aRowThatWasForgottenIsToldWithWhatItLacks() throws {
        var rows = ChangedRows(limit: 3, optional: ["error"])
        rows.update(a, ["state": "waiting", "error": "e"])
        var known: [String: [String: JSONValue]] = [:]
        apply(try #require(rows.delta(since: rows.revision - 1)), to: &known)
        var seen = rows.revision
        for _ in 0..<5 {
            rows.update(DownloadID(), ["state": "completed"])
            apply(try #require(rows.delta(since: seen)), to: &known)
            seen = rows.revision
        }
        rows.update(a, ["state": "completed"])
        apply(try #require(rows.delta(since: seen)), to: &known)
        #expect(known[a.description] == ["state": "completed"])
    }

    @Test func listsThatMustBeReadAgainAreToldOnce() throws {
        var rows = ChangedRows()
        let seen = rows.revision
        rows.markStale()
        #expect(rows.delta(since: seen)?.stale == true)
        #expect(rows.delta(since: rows.revision)?.stale == nil)
    }

    @Test func aRevisionThatIsTooOldOrOfTheFutureHasNoDelta() throws {
        var rows = ChangedRows(limit: 10)
        let start = rows.revision
        for number in 0..<30 { rows.update(DownloadID(), ["number": .integer(Int64(number))]) }
        #expect(rows.delta(since: start) == nil)
        #expect(rows.delta(since: rows.revision + 1) == nil)
        #expect(rows.delta(since: rows.revision - 5)?.rows.count == 5)
    }

    /// Tests that single deltas in sequence and one merged delta lead to the same rows, from any revision.
    @Test(arguments: 0..<40) func mergedAndSingleDeltasLeadToTheSameRows(seed: UInt64) throws {
        var generator = SplitMix(seed)
        var rows = ChangedRows(revision: 1, limit: 50)
        let ids = (0..<8).map { _ in DownloadID() }
        var (slow, fast): ([String: [String: JSONValue]], [String: [String: JSONValue]]) = ([:], [:])
        var seen = rows.revision
        let start = seen
        for _ in 0..<60 {
            let id = ids[Int(generator.next() % 8)]
            if generator.next() % 10 == 0 {
                rows.remove(id)
            } else {
                var fields: [String: JSONValue] = ["name": .string(id.description)]
                for name in ["a", "b", "c"] where generator.next() % 2 == 0 {
                    fields[name] = .integer(Int64(generator.next() % 3))
                }
                rows.update(id, fields)
            }
            if generator.next() % 3 == 0 {
                apply(try #require(rows.delta(since: seen)), to: &fast)
                seen = rows.revision
            }
        }
        apply(try #require(rows.delta(since: seen)), to: &fast)
        apply(try #require(rows.delta(since: start)), to: &slow)
        #expect(fast == slow)
        #expect(!fast.isEmpty)
    }

    /// Applies a delta as the contract demands: removed rows first; a field that is `null` is cleared.
    private func apply(_ delta: ChangedRows.Delta, to rows: inout [String: [String: JSONValue]]) {
        for id in delta.removed { rows[id] = nil }
        for (id, fields) in delta.rows {
            for (name, value) in fields { rows[id, default: [:]][name] = value == .null ? nil : value }
        }
    }
}

private struct SplitMix: RandomNumberGenerator {
    private var state: UInt64
    init(_ seed: UInt64) { state = seed }
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
