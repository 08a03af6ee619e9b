import Foundation
import HaulCore

/// A client that sends a request and returns the answer, as an application's own client does.
protocol Transport {
    /// - Throws: if no answer arrives. A body that breaks off is an answer whose ``Answer/isWhole`` is `false`.
    func load(_ request: Request) throws -> Answer
}

struct Request {
    let url: URL
    let fields: [HeaderField]

    /// Returns the value of the first field with this name.
    func value(_ name: String) -> String? {
        fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

struct Answer {
    let status: Int
    let fields: [(name: String, value: String)]
    /// The bytes that arrived.
    let body: [UInt8]
    /// Whether the body ended where its framing says.
    let isWhole: Bool
}

/// A version of the file.
struct ServedFile {
    let tag: String
    let content: [UInt8]
}

/// The server's behaviour for one request.
struct Step {
    let file: ServedFile
    /// Number of body bytes after which the connection breaks; `nil` if it does not.
    let breaksAfter: Int?

    init(file: ServedFile, breaksAfter: Int? = nil) {
        self.file = file
        self.breaksAfter = breaksAfter
    }
}

/// A server in memory that follows a script, one step for each request, and repeats the last step. Not thread-safe.
final class ScriptedServer: Transport {
    private var steps: ArraySlice<Step>

    init(_ steps: [Step]) { self.steps = steps[...] }

    func load(_ request: Request) throws -> Answer {
        guard let step = steps.first else { throw Failure("The script has no step.") }
        if steps.count > 1 { steps.removeFirst() }
        let answer = Self.answer(to: request, step)
        let asked = request.fields.map { "\($0.name): \($0.value)" }.joined(separator: ", ")
        print("\(asked) -> \(answer.status), \(answer.body.count) bytes\(answer.isWhole ? "" : ", broken off")")
        return answer
    }

    /// Answers a range if the condition holds, else the whole (RFC 9110 §13.1.5, §14.2).
    private static func answer(to request: Request, _ step: Step) -> Answer {
        let content = step.file.content
        let condition = request.value("If-Range")
        var first = 0
        if condition == nil || condition == step.file.tag { first = firstByte(of: request) ?? 0 }
        var fields = [(name: "ETag", value: step.file.tag), (name: "Content-Type", value: "video/mp4")]
        if first >= content.count, first > 0 {
            fields.append((name: "Content-Range", value: "bytes */\(content.count)"))
            return Answer(status: 416, fields: fields, body: [], isWhole: true)
        }
        if first > 0 {
            let range = "bytes \(first)-\(content.count - 1)/\(content.count)"
            fields.append((name: "Content-Range", value: range))
        }
        fields.append((name: "Content-Length", value: "\(content.count - first)"))
        let body = Array(content[first...])
        let sent = min(step.breaksAfter ?? body.count, body.count)
        let status = first > 0 ? 206 : 200
        return Answer(status: status, fields: fields, body: Array(body.prefix(sent)), isWhole: sent == body.count)
    }

    /// Reads `Range: bytes=N-`, the only form that the program sends.
    private static func firstByte(of request: Request) -> Int? {
        guard let range = request.value("Range"), range.hasPrefix("bytes="), range.hasSuffix("-") else { return nil }
        return Int(range.dropFirst(6).dropLast())
    }
}
