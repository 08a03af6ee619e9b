/// A request as a ``TestServer`` received it.
package struct TestRequest: Sendable {
    /// The method, such as `GET`.
    package let method: String
    /// The request target as it stood in the request line.
    package let target: String
    /// The header fields in their order and spelling.
    package let headers: [(String, String)]
    /// The bytes of the body; empty without a body.
    package let body: [UInt8]
    /// The IP address of the client; `nil` without a connection.
    package let remoteAddress: String?
    /// The number of the request's connection among all connections of the server, counted from 1.
    package let connectionNumber: Int
    /// The number of the request among all requests of the server, counted from 1.
    package let requestNumber: Int
    /// Number of other requests that the server was answering when this request came.
    package let othersInProgress: Int

    /// Makes a request, for testing an answer without a server.
    package init(
        method: String = "GET",
        target: String = "/",
        headers: [(String, String)] = [],
        body: [UInt8] = [],
        remoteAddress: String? = nil,
        connectionNumber: Int = 1,
        requestNumber: Int = 1,
        othersInProgress: Int = 0
    ) {
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        self.remoteAddress = remoteAddress
        self.connectionNumber = connectionNumber
        self.requestNumber = requestNumber
        self.othersInProgress = othersInProgress
    }

    /// The values of a header field, joined with commas; `nil` if there is none. The case of the name does not matter.
    package subscript(name: String) -> String? {
        let wanted = name.lowercased()
        let values = headers.filter { $0.0.lowercased() == wanted }.map { $0.1 }
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    /// The path of the target, without the query. In the absolute form, which a proxy receives, also without scheme and
    /// authority.
    package var path: String {
        var rest = Substring(target)
        if !rest.hasPrefix("/"), let authority = rest.firstRange(of: "://") {
            rest = rest[authority.upperBound...]
            rest = rest.firstIndex(of: "/").map { rest[$0...] } ?? "/"
        }
        return String(rest.prefix { $0 != "?" })
    }

    /// The range of `bytes=a-b` or `bytes=a-`; `nil` for every other form and without `Range`.
    package var range: (first: Int64, last: Int64?)? {
        guard let value = self["Range"], value.lowercased().hasPrefix("bytes=") else { return nil }
        let ends = value.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.position(ends[0]) else { return nil }
        if ends[1].isEmpty { return (first, nil) }
        guard let last = Self.position(ends[1]), last >= first else { return nil }
        return (first, last)
    }

    /// Parses a run of digits and nothing else. `Int64.init` alone would accept a sign.
    private static func position(_ digits: Substring) -> Int64? {
        digits.allSatisfy { $0.isASCII && $0.isNumber } ? Int64(digits) : nil
    }
}
