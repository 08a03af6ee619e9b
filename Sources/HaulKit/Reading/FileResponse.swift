/// The response of a source reader that knows the length and the version of a file before it reads any bytes of it. For
/// protocols without response heads of their own.
package struct FileResponse: Sendable {
    package let head: ResponseHead
    /// The range of the file that the reader sends after the head.
    package let body: Range<Int64>

    /// Makes the response to `request` that ``SourceReading`` prescribes.
    ///
    /// - Parameters:
    ///   - length: length of the file in bytes; a negative number counts as 0.
    ///   - version: text that is equal only for equal bytes of the file; `nil` if the protocol has none.
    ///   - fields: further header fields, such as `Content-Type`.
    package init(
        to request: TransportRequest,
        length: Int64,
        version: String?,
        fields: [(String, String)] = []
    ) {
        let length = max(0, length)
        let tag = version.map(Self.tag)
        let first = max(0, request.firstByte)
        let isCurrent = request.conditionField.map { $0.value == tag } ?? true
        var (status, all) = (200, fields)
        if !request.isForRange || !isCurrent && request.conditionField?.name == "If-Range" {
            body = 0..<length
        } else if !isCurrent {
            (status, body) = (412, 0..<0)
        } else if first >= length {
            (status, body) = (416, 0..<0)
            all.append(("Content-Range", "bytes */\(length)"))
        } else {
            (status, body) = (206, first..<max(first + 1, min(length, request.end ?? length)))
            all.append(("Content-Range", "bytes \(body.lowerBound)-\(body.upperBound - 1)/\(length)"))
        }
        if let tag { all.append(("ETag", tag)) }
        all.append(("Content-Length", "\(body.count)"))
        head = ResponseHead(status: status, fields: all, url: request.url)
    }

    /// Returns a strong entity tag (RFC 9110 §8.8.3) for the version; bytes that a tag cannot contain are
    /// percent-escaped.
    private static func tag(_ version: String) -> String {
        let bytes = version.utf8.flatMap { byte -> [UInt8] in
            let isPlain = (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "%")
            return isPlain ? [byte] : [UInt8(ascii: "%")] + Array([byte].hexadecimal.utf8)
        }
        return "\"" + String(decoding: bytes, as: UTF8.self) + "\""
    }
}
