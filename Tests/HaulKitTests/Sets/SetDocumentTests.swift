import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Tests how the documents of a set are asked for.
@Suite(.timeLimit(.minutes(60)))
struct SetDocumentTests {
    private func list(_ rig: DownloaderRig) throws -> ChecksumListSource {
        ChecksumListSource(try #require(URL(string: rig.server.url("/SHA256SUMS"))))
    }

    private func busy(_ seconds: String) -> DownloaderRig.Handler {
        { _ in .empty(503, "Busy", headers: [("Retry-After", seconds)]) }
    }

    @Test(arguments: ["7200", "Fri, 31 Dec 9999 23:59:59 GMT"])
    func aServerThatIsBusyForHoursIsNotWaitedFor(_ retryAfter: String) async throws {
        try await DownloaderRig.run(serving: busy(retryAfter)) { rig async throws in
            let error = await #expect(throws: DownloadError.self) {
                _ = try await rig.downloader.checksums(try list(rig))
            }
            #expect(error?.code == .refusedByServer && error?.status == 503)
            #expect(error?.message.contains("wants to be asked again after") == true)
            #expect(rig.server.requests.count == 1)
        }
    }

    /// A second of each of many answers would be hours too.
    @Test func theWaitsThatAServerAsksForAreBoundedTogether() async throws {
        try await DownloaderRig.run(configure: { $0.retry.retryAfterCap = .seconds(1) }, serving: busy("1")) {
            rig async throws in
            await #expect(throws: DownloadError.self) { _ = try await rig.downloader.checksums(try list(rig)) }
            #expect(rig.server.requests.count == 2)
        }
    }

    @Test func theSignerOfAListIsNilWithoutASignature() async throws {
        let text = "\(TestContent(seed: 1, count: 10).digest(.sha256).hexadecimal)  a\n"
        try await DownloaderRig.run(serving: FileResource(text.utf8)) { rig async throws in
            #expect(try await rig.downloader.checksums(try list(rig)).signedBy == nil)
        }
    }
}
