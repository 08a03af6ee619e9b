import Foundation
import HaulKit

/// Prints one JSON object per line on standard output. New keys may be added. An absent key means no value.
struct JSONDisplay: Display {
    let advice: ErrorAdvice

    private struct Line: Encodable {
        struct Failure: Encodable {
            var code: String
            var message: String
            var status: Int?
        }
        var event: String
        var id: String?
        var url: String
        /// File and line of a refused request or of text that is not a URL; for a file of a Metalink that cannot be
        /// used, the Metalink.
        var place: String?
        var state: String?
        /// The hold reason, in state `paused`.
        var hold: String?
        var path: String?
        var received: Int64?
        var total: Int64?
        /// `true` for an estimate, otherwise `nil`, never `false`.
        var totalIsEstimate: Bool?
        /// The segments of a stream.
        var stream: DownloadSnapshot.Stream?
        var bytesPerSecond: Int64?
        var secondsLeft: Double?
        var connections: Int?
        var proof: String?
        var wasThere: Bool?
        /// Gaps of a finished film, one line each.
        var gaps: [String]?
        /// The signer of the list of digests at `url`.
        var signedBy: String?
        var error: Failure?
    }

    func changed(_ snapshot: DownloadSnapshot) { print(line("changed", snapshot), .passing) }
    func progressed(_ snapshot: DownloadSnapshot) {
        print(line("progress", snapshot), .progress(of: snapshot.id.description))
    }

    func ended(_ snapshot: DownloadSnapshot, _ outcome: DownloadOutcome) {
        switch outcome {
        case .completed(let completed):
            var line = line("completed", snapshot)
            line.path = completed.path
            line.proof = completed.proof.rawValue
            line.wasThere = completed.alreadyExisted
            line.gaps = completed.gaps.isEmpty ? nil : completed.gaps
            print(line)
        case .failed: print(line("failed", snapshot))
        case .cancelled: print(line("cancelled", snapshot))
        }
    }

    func refused(_ url: String, _ error: DownloadError, at place: String?) {
        print(Line(event: "failed", url: url, place: place, error: failure(error)))
    }

    func unreadable(_ line: Wanted.Unreadable) {
        let error = Line.Failure(code: line.code.rawValue, message: line.reason)
        print(Line(event: "failed", url: line.text, place: line.place, error: error))
    }

    func signed(_ list: String, by signer: String) { print(Line(event: "list", url: list, signedBy: signer)) }

    private func line(_ event: String, _ snapshot: DownloadSnapshot) -> Line {
        Line(
            event: event,
            id: snapshot.id.description,
            url: snapshot.url.masked,
            state: snapshot.state.rawValue,
            hold: snapshot.holdReason?.rawValue,
            path: snapshot.path,
            received: snapshot.receivedBytes,
            total: snapshot.totalBytes,
            totalIsEstimate: snapshot.stream != nil && snapshot.totalBytes != nil ? true : nil,
            stream: snapshot.stream,
            // Limits the speed, because bytes that arrive within nanoseconds give a speed beyond `Int64`.
            bytesPerSecond: Int64(max(0, min(snapshot.bytesPerSecond, 9e15))),
            secondsLeft: snapshot.timeLeft.map { ($0 / .seconds(1)).rounded() },
            connections: snapshot.state == .transferring ? snapshot.connections.count : nil,
            error: snapshot.error.map(failure)
        )
    }

    private func failure(_ error: DownloadError) -> Line.Failure {
        .init(code: error.code.rawValue, message: advice.text(error), status: error.status)
    }

    private func print(_ line: Line, _ importance: OutputQueue.Importance = .end) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Encoding cannot fail, because the line has only strings and numbers.
        guard let data = try? encoder.encode(line) else { return }
        Output.result(Self.escapingControls(String(decoding: data, as: UTF8.self)), importance, of: line.id)
    }

    /// Escapes U+007F to U+009F. JSON allows these control characters unescaped (RFC 8259 §7), but a terminal obeys
    /// them. They occur only in strings.
    static func escapingControls(_ json: String) -> String {
        guard json.unicodeScalars.contains(where: { (0x7F...0x9F).contains($0.value) }) else { return json }
        return json.unicodeScalars.map { scalar in
            (0x7F...0x9F).contains(scalar.value) ? "\\u00" + String(scalar.value, radix: 16) : String(scalar)
        }.joined()
    }
}
