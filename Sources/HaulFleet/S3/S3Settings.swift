internal import Foundation
internal import HaulKit

/// Settings for one bucket of an S3-compatible store.
package struct S3Settings: Sendable, Hashable {
    package enum Addressing: String, Sendable, Hashable, Codable, CaseIterable {
        /// For Amazon S3, the bucket is in the host name if the bucket name permits this. For other stores, the bucket
        /// is in the path.
        case automatic
        case path
        case virtualHost = "virtual-host"
    }

    package var bucket: String
    /// The beginning of every key, without the following slash. Empty if keys are the paths of the list.
    package var prefix: String
    package var region: String
    /// `http` or `https` URL of the store; `nil` for Amazon S3.
    package var endpoint: String?
    package var addressing = Addressing.automatic
    /// Minimum size of a part in bytes. One request sends an object up to this size.
    package var partSize: Int64 = 8 << 20
    /// Number of parts of one object that are sent at once.
    package var partsAtOnce = 4
    /// Maximum number of simultaneous requests for all objects.
    package var connections = 16
    /// Whether requests send the SHA-256 of each part for the store to keep. The worker stops sending checksums if the
    /// store refuses them.
    package var sendsChecksums = true
    /// Maximum number of attempts per request.
    package var attempts = 6
    /// Bound of the random delay after the first failed attempt. The bound doubles with each failure.
    package var retryDelay = Duration.milliseconds(250)
    package var longestRetryDelay = Duration.seconds(20)
    /// Maximum silence of the store while it receives a request, before the response, and within the response.
    package var idleTimeout = Duration.seconds(60)
    package var connectTimeout = Duration.seconds(10)
    /// Path of a PEM file with certificates to trust besides the system's; `nil` for none.
    package var certificateAuthorities: String?

    package init(bucket: String, prefix: String = "", region: String = "us-east-1", endpoint: String? = nil) {
        (self.bucket, self.prefix, self.region, self.endpoint) = (bucket, prefix, region, endpoint)
    }

    func backoff(_ jitter: Backoff.Jitter) -> Backoff {
        Backoff(base: retryDelay, cap: longestRetryDelay, jitter: jitter)
    }
}

extension S3Settings {
    /// Makes the settings for `s3://BUCKET/PREFIX`. Region and endpoint come from the environment (`AWS_REGION`,
    /// `AWS_DEFAULT_REGION`, `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`), and so does the file of certificates
    /// (`AWS_CA_BUNDLE`, `SSL_CERT_FILE`).
    ///
    /// - Throws: ``FleetError/Code/invalidInput`` for another form or an impossible bucket name.
    package init(_ text: String, environment: [String: String]) throws(FleetError) {
        guard text.hasPrefix("s3://") else {
            throw FleetError(.invalidInput, "\(RelativePath.quoted(text)) is not of the form s3://BUCKET/PREFIX.")
        }
        let rest = text.dropFirst(5)
        let bucket = rest.prefix { $0 != "/" }
        guard Self.isBucket(bucket) else {
            throw FleetError(.invalidInput, "\(RelativePath.quoted(String(bucket))) is no name of a bucket.")
        }
        var prefix = rest.dropFirst(bucket.count + 1)
        if prefix.hasSuffix("/") { prefix = prefix.dropLast() }
        self.init(bucket: String(bucket), prefix: String(prefix))
        take(environment)
    }

    /// Takes region, endpoint and file of certificates from the environment.
    mutating func take(_ environment: [String: String]) {
        func value(_ names: String...) -> String? { names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty } }
        region = value("AWS_REGION", "AWS_DEFAULT_REGION") ?? region
        endpoint = value("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
        certificateAuthorities = value("AWS_CA_BUNDLE", "SSL_CERT_FILE")
    }

    /// Whether `text` can be the name of a bucket.
    static func isBucket(_ text: Substring) -> Bool {
        (3...63).contains(text.utf8.count) && text.utf8.allSatisfy(isOfBucket)
    }

    private static func isOfBucket(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
