/// The error of a call. aria2 returns code 1 for every failed method; the other codes are those of JSON-RPC. The
/// `errorCode` of a download is a different code: ``Aria2ErrorCode``.
package struct Aria2CallError: Error, Sendable, Equatable {
    package let code: Int64
    package let message: String

    package init(_ message: String, code: Int64 = 1) { (self.code, self.message) = (code, message) }

    static let unauthorized = Aria2CallError("Unauthorized")
    static let malformed = Aria2CallError("Parse error.", code: -32_700)
    static let invalidRequest = Aria2CallError("Invalid Request.", code: -32_600)
    static let invalidParameters = Aria2CallError("Invalid params.", code: -32_602)
    static let tooMuch = Aria2CallError("The answers of this request are too long; ask for less at once.")

    /// Status of an HTTP response that contains only this error.
    var status: Int {
        switch code {
        case 1, -32_600: 400
        case -32_601: 404
        default: 500
        }
    }
}
