import Foundation
import HaulTesting

/// A file with ranges from another file, at a server with arbitrary version fields.
struct PatchedResource: Sendable {
    var content: TestContent
    var patches: [Range<Int64>] = []
    var patch = TestContent.second
    /// The version fields of a 200; and of a 206, if they differ.
    var fields: [(String, String)] = []
    var partFields: [(String, String)]?
    /// Whether the connection stays open after an answer.
    var keepsAlive = true

    /// The bytes of the whole file.
    var bytes: [UInt8] {
        var bytes = content.bytes(0..<content.count)
        for range in patches {
            bytes.replaceSubrange(Int(range.lowerBound)..<Int(range.upperBound), with: patch.bytes(range))
        }
        return bytes
    }

    /// Answers every range and ignores conditions. Falls silent after `limit` bytes of a longer body.
    func reply(to request: TestRequest, silentAfter limit: Int64 = .max) -> TestReply {
        let range = request.range.map { $0.first..<min(($0.last ?? .max - 1) + 1, content.count) }
        let body = range ?? 0..<content.count
        var headers = [("Content-Length", "\(body.count)")] + (range == nil ? fields : partFields ?? fields)
        if range != nil {
            headers.append(("Content-Range", "bytes \(body.lowerBound)-\(body.upperBound - 1)/\(content.count)"))
        }
        if !keepsAlive { headers.append(("Connection", "close")) }
        let head = TestStep.head(
            status: range == nil ? 200 : 206,
            reason: range == nil ? "OK" : "Partial Content",
            headers: headers
        )
        guard Int64(body.count) > limit else { return TestReply([head] + steps(body), keepsAlive: keepsAlive) }
        return TestReply([head] + steps(body.lowerBound..<body.lowerBound + limit) + [.stall])
    }

    private func steps(_ range: Range<Int64>) -> [TestStep] {
        var steps: [TestStep] = []
        var position = range.lowerBound
        for patched in patches where patched.overlaps(range) {
            let stretch = patched.clamped(to: range)
            if position < stretch.lowerBound { steps.append(.body(position..<stretch.lowerBound, of: content)) }
            steps.append(.body(stretch, of: patch))
            position = stretch.upperBound
        }
        if position < range.upperBound { steps.append(.body(position..<range.upperBound, of: content)) }
        return steps
    }

    func matches(fileAt path: String) throws -> Bool {
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        return data == Data(bytes)
    }
}
