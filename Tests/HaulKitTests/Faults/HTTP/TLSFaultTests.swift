import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Line 9 of `docs/practice-list.md`: TLS connections that break off; and the certificates to trust.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct TLSFaultTests {
    private let content = TestContent.first

    private func run(
        trusting: Bool = true,
        certificate: TestCertificate? = nil,
        onAccept: (@Sendable (Int) -> ConnectionDecision)? = nil,
        serving handler: @escaping DownloaderRig.Handler,
        _ test: (DownloaderRig) async throws -> Void
    ) async throws {
        let certificate = try certificate ?? TestCertificate.shared()
        try await DownloaderRig.run(
            tls: certificate,
            onAccept: onAccept,
            configure: { $0.network.certificateAuthorities = trusting ? certificate.certificatePath : nil },
            serving: handler,
            test
        )
    }

    @Test func trustsTheAuthoritiesThatItIsGiven() async throws {
        let resource = content.resource()
        try await run(serving: { resource.reply(to: $0) }) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
        }
    }

    /// The connection of the attempt, and a bare one to the other addresses of the name if the handshake takes more
    /// than a moment.
    private static let ofOneAttempt = 2

    @Test func refusesAnUntrustedCertificateAtOnce() async throws {
        let connections = CallCounter()
        let resource = content.resource()
        try await run(
            trusting: false,
            onAccept: { _ in
                connections.next()
                return .serve
            },
            serving: { resource.reply(to: $0) }
        ) { rig in
            let error = try await rig.failure()
            #expect(error.code == .tlsFailed)
            #expect(connections.value <= Self.ofOneAttempt)
            #expect(rig.server.requests.isEmpty)
            #expect(try rig.names().isEmpty)
        }
    }

    @Test func refusesACertificateForAnotherHost() async throws {
        let other = try TestCertificate.make(names: "DNS:elsewhere.example")
        let connections = CallCounter()
        let resource = content.resource()
        try await run(
            certificate: other,
            onAccept: { _ in
                connections.next()
                return .serve
            },
            serving: { resource.reply(to: $0) }
        ) { rig async throws in
            #expect(try await rig.failure().code == .tlsFailed)
            #expect(connections.value <= Self.ofOneAttempt)
            #expect(rig.server.requests.isEmpty)
        }
    }

    @Test func saysThatTheFileOfAuthoritiesCannotBeRead() async throws {
        let folder = try TemporaryFolder()
        var configuration = Downloader.Configuration(stateFolder: folder("state"))
        configuration.network.certificateAuthorities = "/nowhere/authorities.pem"
        let wish = configuration
        let error = await #expect(throws: DownloadError.self) { try await Downloader(wish) }
        #expect(error?.code == .tlsFailed)
        #expect(error?.message.contains("/nowhere/authorities.pem") == true)
    }

    @Test func resumesWhenTLSBreaksOffWithoutGoodbyeWithinALength() async throws {
        let resource = content.resource()
        let broken = resource.breaking(after: cut, with: .closeAbruptly)
        try await run(serving: { $0.range == nil ? broken.reply(to: $0) : resource.reply(to: $0) }) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.requests.count > 1)
        }
    }

    @Test func doesNotTakeATruncatedTLSConnectionForTheEndOfAFile() async throws {
        try await run(serving: { _ in .untilClose(.first, ending: .closeAbruptly) }) { rig async throws in
            #expect(try await rig.failure().code == .connectionLost)
            #expect(try !rig.names().contains("file.bin"))
            #expect(rig.server.requests.count > 1)
        }
    }

    @Test func takesATLSGoodbyeForTheEndOfAFile() async throws {
        try await run(serving: { _ in .untilClose(.first) }) { rig async throws in
            #expect(try await rig.download().proof == .none)
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func failsWhenTheServerDoesNotSpeakTLS() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            let url = "https://127.0.0.1:\(rig.server.port)/file.bin"
            let error = try await rig.failure(of: try rig.request(url: url))
            #expect([.connectionLost, .tlsFailed].contains(error.code))
            #expect(rig.server.requests.isEmpty)
        }
    }

    @Test func asksAServerWithTLS12AndNoneThatHasOnlyAnOlderVersion() async throws {
        let resource = content.resource()
        var certificate = try TestCertificate.shared()
        certificate.newestTLS = .tls12
        try await run(certificate: certificate, serving: { resource.reply(to: $0) }) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
        }
        certificate.newestTLS = .tls11
        try await run(certificate: certificate, serving: { resource.reply(to: $0) }) { rig in
            let error = try await rig.failure()
            #expect([.connectionLost, .tlsFailed].contains(error.code))
            #expect(rig.server.requests.isEmpty)
        }
    }

    @Test func failsWhenTheServerSpeaksNothingButTLS() async throws {
        let resource = content.resource()
        try await run(serving: { resource.reply(to: $0) }) { rig in
            let url = "http://localhost:\(rig.server.port)/file.bin"
            let error = try await rig.failure(of: try rig.request(url: url))
            #expect([.connectionLost, .malformedResponse].contains(error.code))
        }
    }
}
