/// Classifies error responses by status and code and describes them.
extension S3Failure {
    /// Whether the status has a temporary cause (RFC 9110 §15, RFC 6585 §4, RFC 8470 §5.2). All 5xx codes count except
    /// 501 (not implemented), 505 (version), 507 (space), 510, and 511 (a network that wants a login).
    private static func passes(_ status: Int) -> Bool {
        switch status {
        case 408, 425, 429, 499: true
        case 501, 505, 507, 510, 511: false
        default: (500..<600).contains(status)
        }
    }
    private static let transientCodes: Set = [
        "InternalError", "SlowDown", "ServiceUnavailable", "RequestTimeout", "BadDigest", "IncompleteBody",
        "XAmzContentSHA256Mismatch", "Throttling", "ThrottlingException", "TooManyRequests", "RequestLimitExceeded",
        "503 SlowDown",
        "OperationAborted",
    ]
    private static let busyCodes: Set = [
        "SlowDown", "ServiceUnavailable", "Throttling", "ThrottlingException", "TooManyRequests",
        "RequestLimitExceeded",
    ]

    /// Makes the failure of an error response.
    ///
    /// - Parameter store: the name of the store in messages.
    init(_ response: S3Response, store: String, bucket: String) {
        let document = S3XML(response.body).flatMap { $0.name == "Error" ? $0 : nil }
        let code = document?.text("Code") ?? ""
        status = response.status
        self.code = code.isEmpty ? Self.code(of: response.status) : code
        message = String((document?.text("Message") ?? "").prefix(300))
        region = (response.headers["x-amz-bucket-region"] ?? document?.text("Region")).flatMap {
            S3Endpoint.isRegion($0) ? $0 : nil
        }
        location = response.headers["location"]
        date = response.headers["date"]
        isTransient = Self.passes(status) || Self.transientCodes.contains(self.code)
        asksForLess = [429, 503].contains(status) || Self.busyCodes.contains(self.code)
        error = FleetError(.destinationUnreachable, "")
        error = sentence(store: store, bucket: RelativePath.quoted(bucket))
        error.blamesNoFile = Self.codesForAllFiles.contains(self.code)
    }

    /// Codes that every request of this machine gets: the credentials, the clock, the bucket or its quota are wrong.
    /// `AccessDenied` is not among them, because a bucket may protect some of its objects.
    private static let codesForAllFiles: Set = [
        "InvalidAccessKeyId", "InvalidClientTokenId", "SignatureDoesNotMatch", "InvalidToken", "InvalidSecurity",
        "ExpiredToken", "TokenRefreshRequired", "RequestExpired", "RequestTimeTooSkewed", "NoSuchBucket",
        "AllAccessDisabled", "AccountProblem", "QuotaExceeded", "XMinioAdminBucketQuotaExceeded",
        "InsufficientStorage", "XMinioStorageFull", "ServiceQuotaExceededException",
    ]

    /// Derives a code from the status for a response without a document, such as every response to HEAD.
    private static func code(of status: Int) -> String {
        switch status {
        case 301: "PermanentRedirect"
        case 307: "TemporaryRedirect"
        case 400: "BadRequest"
        case 403: "Forbidden"
        case 404: "NotFound"
        case 409: "Conflict"
        case 412: "PreconditionFailed"
        case 413: "EntityTooLarge"
        case 501: "NotImplemented"
        case 503: "ServiceUnavailable"
        case 507: "InsufficientStorage"
        default: "HTTP \(status)"
        }
    }

    static func noBucket(_ bucket: String, store: String) -> FleetError {
        FleetError(
            .destinationRefused,
            "\(store) has no bucket \(bucket). `haul-fleet init --make-bucket` makes the bucket of a queue."
        )
    }

    private func sentence(store: String, bucket: String) -> FleetError {
        func refused(_ text: String) -> FleetError { FleetError(.destinationRefused, text) }
        func later(_ text: String) -> FleetError { FleetError(.destinationUnreachable, text) }
        return switch code {
        case "InvalidAccessKeyId", "InvalidClientTokenId": refused("\(store) does not know the access key.")
        case "SignatureDoesNotMatch":
            refused("\(store) does not accept the signature: the secret key is wrong, or a proxy changes requests.")
        case "InvalidToken", "InvalidSecurity": refused("\(store) does not accept the session token.")
        case "ExpiredToken", "TokenRefreshRequired", "RequestExpired":
            refused("The temporary credentials for \(store) have expired, and there are no newer ones.")
        case "NoSuchBucket": Self.noBucket(bucket, store: store)
        case "BucketAlreadyExists": refused("\(store) has a bucket \(bucket) that belongs to somebody else.")
        case "AccessDenied", "Forbidden", "AllAccessDisabled", "AccountProblem":
            refused("\(store) denies access to the bucket \(bucket)\(detail).")
        case "QuotaExceeded", "XMinioAdminBucketQuotaExceeded", "InsufficientStorage", "XMinioStorageFull",
            "ServiceQuotaExceededException":
            refused("The quota or the space of the bucket \(bucket) at \(store) is used up\(detail).")
        case "RequestTimeTooSkewed":
            refused("The clock of this machine differs from that of \(store) by more than it accepts. Set the clock.")
        case "EntityTooLarge": refused("The object is larger than \(store) accepts.")
        case "EntityTooSmall": refused("\(store) does not accept parts as small as these. Set a larger part size.")
        case "InvalidPart", "InvalidPartOrder":
            later("\(store) has lost parts of the upload, or has others; it must be sent once more.")
        case "NoSuchUpload": later("\(store) does not know the upload any more; it must be started once more.")
        case "PermanentRedirect", "TemporaryRedirect", "AuthorizationHeaderMalformed",
            "IllegalLocationConstraintException":
            refused(
                "The bucket \(bucket) is in another region or at another endpoint than the one that is set\(detail)."
            )
        case _ where asksForLess:
            later(
                "\(store) is overloaded and asks for fewer requests (\(code)); it went on doing so after several attempts."
            )
        case _ where isTransient: later("\(store) failed (\(code)\(detail)), again after several attempts.")
        case _ where (300..<400).contains(status):
            refused("\(store) answered with a redirect (\(status)) that leads nowhere.")
        default: refused("\(store) refused a request: \(status) \(code)\(detail).")
        }
    }

    private var detail: String { message.isEmpty ? "" : ": \(RelativePath.quoted(message))" }
}
