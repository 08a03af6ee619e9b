public import HaulKit

/// The answer of a scripted server to a request: a file, an error status, or a failure without an answer.
///
/// ```swift
/// .data(bytes)
/// .data(bytes).inSteps(4)
/// .data(bytes).inSteps(100, every: .milliseconds(50))
/// .data(bytes).failing(afterBytes: 1000, with: DownloadError(code: .diskFull, message: "The disk is full."))
/// .failure(DownloadError(code: .nameNotResolved, message: "No such host."))
/// .status(404)
/// ```
public struct ScriptedResponse: Sendable {
    /// The time at which the parts of a body arrive.
    enum Pace: Sendable {
        case atOnce
        /// At each step of the script.
        case steps
        case every(Duration)
    }

    struct Body: Sendable {
        let bytes: [UInt8]
        let contentType: String
        let fileName: String?
        /// Identifies the bytes: equal bytes have equal versions.
        let version: String
        var parts = 1
        var pace = Pace.atOnce
        var failure: (after: Int, error: DownloadError)?
    }

    enum Outcome: Sendable {
        case body(Body)
        case status(Int, [String: String])
        case failure(DownloadError)
    }

    private(set) var outcome: Outcome

    /// Returns a file with these bytes, which arrive at once. An interrupted download of the file is resumed, not
    /// started over.
    ///
    /// - Parameters:
    ///   - contentType: the value of `Content-Type`.
    ///   - fileName: the name that the server suggests (`Content-Disposition`, RFC 6266).
    public static func data(
        _ bytes: some Sequence<UInt8>,
        contentType: String = "application/octet-stream",
        fileName: String? = nil
    ) -> ScriptedResponse {
        let bytes = Array(bytes)
        let version = "\(bytes.count)-\(String(StableHash.of(bytes), radix: 16))"
        return ScriptedResponse(
            outcome: .body(Body(bytes: bytes, contentType: contentType, fileName: fileName, version: version))
        )
    }

    /// Returns a response without a file. The download fails with ``HaulKit/DownloadError/Code/refusedByServer`` and
    /// Haul's message for the status. If the status may be temporary, the attempts of
    /// ``HaulKit/Downloader/Configuration/retry`` come first.
    ///
    /// - Parameters:
    ///   - status: the status code (RFC 9110 §15), 400 to 599.
    ///   - headers: header fields, such as `Retry-After`.
    public static func status(_ status: Int, headers: [String: String] = [:]) -> ScriptedResponse {
        ScriptedResponse(outcome: .status(status, headers))
    }

    /// Returns a failure without a response. The download fails with exactly this error, and there is no further
    /// attempt.
    public static func failure(_ error: DownloadError) -> ScriptedResponse {
        ScriptedResponse(outcome: .failure(error))
    }

    /// Returns the same file in equal parts. Its length is known at once. A response without a file stays as it is.
    ///
    /// - Parameters:
    ///   - count: number of parts; below 1 counts as 1.
    ///   - interval: time between two parts, and between the head of the response and the first part, by the clock of
    ///     the downloader. With `nil` each call of ``DownloadScript/step()`` lets one part arrive.
    public func inSteps(_ count: Int, every interval: Duration? = nil) -> ScriptedResponse {
        let pace = interval.map(Pace.every) ?? .steps
        return changed { ($0.parts, $0.pace) = (max(1, count), pace) }
    }

    /// Returns the same file, but after `bytes` bytes the download fails with exactly this error, and there is no
    /// further attempt. A response without a file stays as it is.
    ///
    /// - Parameter bytes: position in the file; nothing fails at or after its end.
    public func failing(afterBytes bytes: Int, with error: DownloadError) -> ScriptedResponse {
        changed { $0.failure = (max(0, bytes), error) }
    }

    private func changed(_ change: (inout Body) -> Void) -> ScriptedResponse {
        guard case .body(var body) = outcome else { return self }
        change(&body)
        return ScriptedResponse(outcome: .body(body))
    }
}
