import HaulTesting
import Testing

@testable import HaulKit

/// `Downloader.shared`, with scripted downloaders in place of that of the process.
@Suite(.timeLimit(.minutes(60)))
struct SharedDownloaderTests {
    /// Opens scripted downloaders, after a number of failures.
    private actor Opener {
        private(set) var calls = 0
        private var failures: Int
        private let script = DownloadScript()

        init(failures: Int) { self.failures = failures }

        func open() async throws(DownloadError) -> Downloader {
            calls += 1
            if failures > 0 {
                failures -= 1
                throw DownloadError(code: .storeFailed, message: "The store cannot be opened.")
            }
            return try await Downloader.scripted(script)
        }
    }

    private func shared(_ opener: Opener) -> SharedDownloader {
        SharedDownloader { () async throws(DownloadError) in try await opener.open() }
    }

    @Test func opensOneDownloaderForAllWhoAskAtOnce() async throws {
        let opener = Opener(failures: 0)
        let shared = shared(opener)
        async let one = shared.get()
        async let other = shared.get()
        let (first, second) = try await (one, other)
        #expect(first === second)
        let third = try await shared.get()
        #expect(first === third)
        let calls = await opener.calls
        #expect(calls == 1)
        await first.shutDown()
    }

    @Test func opensAgainAfterAFailure() async throws {
        let opener = Opener(failures: 1)
        let shared = shared(opener)
        let error = await #expect(throws: DownloadError.self) { _ = try await shared.get() }
        #expect(error?.code == .storeFailed)
        let downloader = try await shared.get()
        let calls = await opener.calls
        #expect(calls == 2)
        await downloader.shutDown()
    }

    @Test func staysShutDown() async throws {
        let shared = shared(Opener(failures: 0))
        try await shared.get().shutDown()
        let downloader = try await shared.get()
        let error = await #expect(throws: DownloadError.self) { _ = try await downloader.list() }
        #expect(error?.code == .shutDown)
    }
}
