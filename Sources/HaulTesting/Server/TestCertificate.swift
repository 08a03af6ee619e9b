internal import Foundation
internal import NIOCore
internal import NIOSSL
internal import Synchronization

/// A self-signed certificate with its key, for a ``TestServer`` that serves HTTPS. The `openssl` command, which must be
/// installed, makes the certificate in a temporary folder that is removed when the process ends.
package struct TestCertificate: Sendable {
    /// Path of the certificate as PEM, for ``HaulKit/Downloader/Configuration/Network/certificateAuthorities``.
    package let certificatePath: String
    private let keyPath: String
    /// The newest version of TLS that a server with this certificate speaks; `nil` for no limit.
    package var newestTLS: TLSVersion?

    /// The versions that ``newestTLS`` can name. Haul's own clients refuse versions before TLS 1.2.
    package enum TLSVersion: Sendable {
        case tls11
        case tls12
    }

    private static let cached = Mutex<TestCertificate?>(nil)
    /// The folders to remove when the process ends.
    private static let directories = Mutex<[URL]>([])

    /// Returns the certificate for localhost and 127.0.0.1. It is made once per process.
    package static func shared() throws -> TestCertificate {
        try cached.withLock { cached in
            if let cached { return cached }
            let made = try make()
            cached = made
            return made
        }
    }

    /// Makes another certificate, for instance for a name that is not the server's.
    package static func make(names: String = "DNS:localhost,IP:127.0.0.1") throws -> TestCertificate {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("haul-test-certificate-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        removeAtExit(directory)
        let certificate = directory.appendingPathComponent("certificate.pem").path
        let key = directory.appendingPathComponent("key.pem").path
        try SystemCommand.run(
            ["openssl"] + [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
                "-subj", "/CN=Haul test", "-addext", "subjectAltName=\(names)", "-keyout", key, "-out", certificate,
            ]
        )
        return TestCertificate(certificatePath: certificate, keyPath: key, newestTLS: nil)
    }

    /// Returns the TLS context of a server with this certificate.
    func serverContext() throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(certificatePath).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: keyPath, format: .pem))
        )
        configuration.maximumTLSVersion =
            switch newestTLS {
            case .tls11: .tlsv11
            case .tls12: .tlsv12
            case nil: nil
            }
        configuration.applicationProtocols = ["http/1.1"]
        // Limits the time for which the server waits for the client's close_notify after it has sent its own.
        configuration.shutdownTimeout = .milliseconds(200)
        return try NIOSSLContext(configuration: configuration)
    }

    private static func removeAtExit(_ directory: URL) {
        let isFirst = directories.withLock { directories in
            directories.append(directory)
            return directories.count == 1
        }
        guard isFirst else { return }
        atexit {
            for directory in TestCertificate.directories.withLock({ $0 }) {
                // Ignores the error, because the ending process cannot report it.
                try? FileManager.default.removeItem(at: directory)
            }
        }
    }
}
