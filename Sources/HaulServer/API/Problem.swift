internal import Foundation
package import HTTPTypes
package import HaulKit
package import Hummingbird
internal import NIOCore

/// An error in the format of RFC 9457. ``code`` stays the same across versions; the texts may change.
package struct Problem: Error, Codable, Hashable, Sendable {
    package var type = "about:blank"
    package var title: String
    package var status: Int
    /// A ``DownloadError/Code``, or a code that only the API has, such as `unknownField`.
    package var code: String
    package var detail: String
    package var cause: String?
    package var suggestion: String?
    /// Seconds to wait before another try; sent as `Retry-After`.
    package var retryAfter: Int?

    package init(
        _ status: HTTPResponse.Status,
        _ code: String,
        _ detail: String,
        cause: String? = nil,
        suggestion: String? = nil,
        retryAfter: Int? = nil
    ) {
        (title, self.status) = (status.reasonPhrase, status.code)
        (self.code, self.detail, self.cause, self.suggestion) = (code, detail, cause, suggestion)
        self.retryAfter = retryAfter
    }

    package init(_ error: DownloadError) {
        self.init(
            Self.status(error.code),
            error.code.rawValue,
            error.message,
            cause: error.cause,
            suggestion: error.recoverySuggestion
        )
    }

    private static func status(_ code: DownloadError.Code) -> HTTPResponse.Status {
        switch code {
        case .notFound: .notFound
        case .alreadyAdded, .fileExists, .inUse, .cancelled, .waitCancelled: .conflict
        case .diskFull: .insufficientStorage
        case .shutDown, .storeFailed: .serviceUnavailable
        case .internalFault, .diskFailed, .tooManyOpenFiles: .internalServerError
        default: .unprocessableContent
        }
    }

    package static let notFound = Problem(.notFound, "notFound", "There is nothing at this path.")
    /// Returns the problem of a known field whose value cannot be used.
    package static func invalidField(_ detail: String) -> Problem {
        Problem(.unprocessableContent, "invalidField", detail)
    }
    package static func badRequest(_ detail: String) -> Problem { Problem(.badRequest, "badRequest", detail) }
}

extension Problem: ResponseGenerator {
    package func response(from request: Request, context: some RequestContext) throws -> Response { response() }

    package func response() -> Response {
        var headers: HTTPFields = [.contentType: "application/problem+json"]
        if let retryAfter { headers[.retryAfter] = String(retryAfter) }
        if status == 401 { headers[.wwwAuthenticate] = "Bearer" }
        return Response(status: .init(code: status), headers: headers, body: .init(byteBuffer: JSONBody.buffer(self)))
    }
}

extension HTTPResponse.Status {
    /// 507 of RFC 4918.
    static var insufficientStorage: HTTPResponse.Status { .init(code: 507, reasonPhrase: "Insufficient Storage") }
}
