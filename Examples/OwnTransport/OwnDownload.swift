import Foundation
import HaulCore

/// One download: its bytes, and the version that they belong to. The rules of `HaulCore` decide; this value obeys.
///
/// A real program keeps ``bytes`` in a partial file. It makes ``resource`` durable before it writes the first byte of
/// a version, and empties the file before it writes another version.
struct OwnDownload: Codable {
    let url: URL
    private(set) var bytes: [UInt8] = []
    /// Version that ``bytes`` belong to; `nil` before the first answer.
    private(set) var resource: Resource?
    private(set) var isComplete = false

    init(url: URL) { self.url = url }

    /// Sends requests until one of the answers brings bytes.
    ///
    /// - Throws: ``Failure`` if the server does not send the file, or contradicts itself again and again. The bytes
    ///   stay.
    mutating func attempt(over transport: any Transport) throws {
        let offset = Int64(bytes.count)
        var request = resource.map { RangeRequest.resuming($0, at: offset) } ?? .whole
        // A question without its condition, then the whole: more requests are not useful in one attempt.
        for _ in 0..<3 {
            let answer = try transport.load(Request(url: url, fields: request.headerFields))
            let judgement = RangeResponse.judge(
                status: answer.status,
                fields: answer.fields,
                url: url,
                to: request,
                after: resource
            )
            switch judgement {
            case .accept(let version, at: let offset, compare: let count):
                if join(answer, of: version, at: Int(offset), comparing: Int(count)) { return }
                request = .whole
            case .restart(let version, _):
                _ = join(answer, of: version, at: 0, comparing: 0)
                return
            case .alreadyComplete(let version):
                resource = version
                isComplete = true
                return
            case .askWithoutCondition:
                request = resource.map { RangeRequest.resuming($0, at: offset, isPlain: true) } ?? .whole
            case .compareFirst, .startOver:
                request = .whole
            case .refuse(let refusal):
                throw Failure("The server does not send the file: \(refusal).")
            }
        }
        throw Failure("The server contradicts itself.")
    }

    /// Writes the body at `offset`, unless its first `count` bytes differ from those before `offset`.
    ///
    /// - Returns: `false` if they differ. Nothing is written then.
    private mutating func join(_ answer: Answer, of version: Resource, at offset: Int, comparing count: Int) -> Bool {
        let known = bytes[(offset - count)..<offset]
        guard zip(answer.body, known).allSatisfy({ $0 == $1 }) else { return false }
        bytes.removeLast(bytes.count - offset)
        bytes += answer.body.dropFirst(count)
        resource = version
        // Without a length, only the end of the body shows that nothing is missing.
        isComplete = version.total.map { $0 == Int64(bytes.count) } ?? answer.isWhole
        return true
    }
}
