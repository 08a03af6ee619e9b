internal import Foundation

/// The reason why a trace cannot be read.
struct TraceError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Number of the line, from 1.
    let line: Int
    let reason: String

    var description: String { "Line \(line) of the trace cannot be read: \(reason)." }
}

/// Reads the traces of ``DownloadTrace``.
enum TraceReader {
    /// Returns the lines after the header. Leaves out an incomplete last line: the process was killed while it wrote
    /// the line.
    static func lines(_ bytes: some Collection<UInt8>) throws(TraceError) -> [TraceLine] {
        var texts = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)[...]
        texts.removeLast()
        guard let first = texts.popFirst() else { throw TraceError(line: 1, reason: "it is not whole") }
        let header: TraceHeader = try decode(first, line: 1)
        guard header.haulTrace == TraceHeader().haulTrace else {
            throw TraceError(line: 1, reason: "its format has the version \(header.haulTrace)")
        }
        var lines: [TraceLine] = []
        var known: Set<DownloadID> = []
        for (index, text) in texts.enumerated() {
            let number = index + 2
            let line: TraceLine = try decode(text, line: number)
            guard (line.machine == nil) != (line.step == nil) else {
                throw TraceError(line: number, reason: "it is neither a machine nor a step")
            }
            if line.machine != nil { known.insert(line.id) }
            guard known.contains(line.id) else {
                throw TraceError(line: number, reason: "no line before it has the machine of this download")
            }
            lines.append(line)
        }
        return lines
    }

    private static func decode<Value: Decodable>(
        _ text: some Collection<UInt8>,
        line: Int
    ) throws(TraceError) -> Value {
        do {
            return try JSONDecoder().decode(Value.self, from: Data(text))
        } catch {
            throw TraceError(line: line, reason: reason(error))
        }
    }

    private static func reason(_ error: any Error) -> String {
        let context: DecodingError.Context? =
            switch error as? DecodingError {
            case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
                .dataCorrupted(let context):
                context
            default: nil
            }
        guard let context else { return "it is no JSON that fits" }
        let place = context.codingPath.map(\.stringValue).joined(separator: ".")
        let text = context.debugDescription.trimmingCharacters(in: CharacterSet(charactersIn: ". "))
        return VisibleText.line(String((place.isEmpty ? text : "\(place): \(text)").prefix(300)))
    }
}
