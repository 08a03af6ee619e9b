package import Foundation
package import HaulKit

/// A download in a list, as JSON. Sizes are in bytes, speeds in bytes per second, dates in RFC 3339.
package struct DownloadRow: Codable, Hashable, Sendable {
    package struct Failure: Codable, Hashable, Sendable {
        package var code: String
        package var message: String
        package var cause: String?
        package var status: Int?
        package var suggestion: String?

        package init(_ error: DownloadError) {
            (code, message, cause, status) = (error.code.rawValue, error.message, error.cause, error.status)
            suggestion = error.recoverySuggestion
        }
    }

    /// The segments of a film while its download runs. Times are in seconds.
    package struct Stream: Codable, Hashable, Sendable {
        package var segments: Int
        package var receivedSegments: Int
        package var seconds: Int64
        package var receivedSeconds: Int64
        package var isLive: Bool

        package init(_ stream: DownloadSnapshot.Stream) {
            (segments, receivedSegments, isLive) = (stream.segments, stream.receivedSegments, stream.isLive)
            // Rounds to whole seconds, because each new fraction would count as a change of the row.
            seconds = DownloadRow.count(stream.seconds)
            receivedSeconds = DownloadRow.count(stream.receivedSeconds)
        }

        var fields: [String: JSONValue] {
            [
                "segments": .integer(Int64(segments)), "receivedSegments": .integer(Int64(receivedSegments)),
                "seconds": .integer(seconds), "receivedSeconds": .integer(receivedSeconds), "isLive": .bool(isLive),
            ]
        }
    }

    package var id: DownloadID
    package var name: String
    /// URL without user info and query, which may be secret.
    package var url: String
    package var host: String
    package var state: DownloadSnapshot.State
    package var holdReason: HoldReason?
    package var folder: String?
    package var path: String?
    package var receivedBytes: Int64
    /// `nil` if unknown. An estimate while the row has `stream`.
    package var totalBytes: Int64?
    package var bytesPerSecond: Int64
    package var secondsLeft: Int64?
    package var retryAt: String?
    package var error: Failure?
    /// Number of open connections.
    package var connections: Int
    package var group: String?
    package var priority: Int
    package var addedAt: String
    package var startedAt: String?
    package var endedAt: String?
    package var proof: CompletedDownload.Proof?
    /// Gaps of a finished film, one line each.
    package var gaps: [String]?
    package var stream: Stream?

    /// - Parameter now: the time at which the snapshot was taken.
    package init(_ snapshot: DownloadSnapshot, now: Date = Date()) {
        id = snapshot.id
        name = snapshot.name
        url = snapshot.url.masked
        host = snapshot.url.host ?? ""
        state = snapshot.state
        holdReason = snapshot.holdReason
        path = snapshot.path
        folder = snapshot.path.map { path in path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "" }
        receivedBytes = snapshot.receivedBytes
        totalBytes = snapshot.totalBytes
        bytesPerSecond = Self.count(snapshot.bytesPerSecond)
        secondsLeft = snapshot.timeLeft.map { $0.components.seconds }
        // Rounds to the second, because dates that are computed from the delay at different times differ by
        // milliseconds.
        retryAt = snapshot.retryDelay.map { delay in
            let seconds = now.timeIntervalSince1970 + Double(delay.components.seconds)
            return Timestamp.text(Date(timeIntervalSince1970: seconds.rounded()))
        }
        error = snapshot.error.map(Failure.init)
        connections = snapshot.connections.count
        group = snapshot.group
        priority = snapshot.priority
        addedAt = Timestamp.text(snapshot.addedAt)
        startedAt = snapshot.startedAt.map(Timestamp.text)
        endedAt = snapshot.endedAt.map(Timestamp.text)
        proof = snapshot.proof
        gaps = snapshot.gaps.isEmpty ? nil : snapshot.gaps
        stream = snapshot.stream.map(Stream.init)
    }

    package static func count(_ value: Double) -> Int64 {
        value.isFinite ? Int64(min(max(0, value.rounded()), 9e15)) : 0
    }

    /// Names of the fields that a row may lack.
    static let optional = [
        "holdReason", "folder", "path", "totalBytes", "secondsLeft", "retryAt", "error", "group", "startedAt",
        "endedAt", "proof", "gaps", "stream",
    ]

    /// The fields by their encoded names. Absent fields have no entry.
    package var fields: [String: JSONValue] {
        var fields: [String: JSONValue] = [
            "id": .string(id.description), "name": .string(name), "url": .string(url), "host": .string(host),
            "state": .string(state.rawValue), "receivedBytes": .integer(receivedBytes),
            "bytesPerSecond": .integer(bytesPerSecond), "connections": .integer(Int64(connections)),
            "priority": .integer(Int64(priority)), "addedAt": .string(addedAt),
        ]
        fields["holdReason"] = holdReason.map { .string($0.rawValue) }
        fields["folder"] = folder.map { .string($0) }
        fields["path"] = path.map { .string($0) }
        fields["totalBytes"] = totalBytes.map { .integer($0) }
        fields["secondsLeft"] = secondsLeft.map { .integer($0) }
        fields["retryAt"] = retryAt.map { .string($0) }
        fields["error"] = error.map { failure in
            var object: [String: JSONValue] = ["code": .string(failure.code), "message": .string(failure.message)]
            object["cause"] = failure.cause.map { .string($0) }
            object["status"] = failure.status.map { .integer(Int64($0)) }
            object["suggestion"] = failure.suggestion.map { .string($0) }
            return .object(object)
        }
        fields["group"] = group.map { .string($0) }
        fields["startedAt"] = startedAt.map { .string($0) }
        fields["endedAt"] = endedAt.map { .string($0) }
        fields["proof"] = proof.map { .string($0.rawValue) }
        fields["gaps"] = gaps.map { .array($0.map { .string($0) }) }
        fields["stream"] = stream.map { .object($0.fields) }
        return fields
    }
}
