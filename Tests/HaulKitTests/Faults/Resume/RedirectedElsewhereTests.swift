import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// One URL that redirects to different files with equal validators. No file is a mixture of both.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct RedirectedElsewhereTests {
    private static let size: Int64 = 400_000
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    enum Name: CaseIterable, Sendable { case tag, date, both }

    /// Two files of the same length that agree just before and after the cut.
    private static func files(_ name: Name) -> [FileResource] {
        [UInt64(1), 2].map { seed in
            var bytes = TestContent(seed: seed, count: size).bytes(0..<size)
            for index in Int(cut) - 40_000..<Int(cut) + 40_000 { bytes[index] = 0 }
            return FileResource(
                bytes,
                etag: name == .date ? nil : "\"1-400000\"",
                lastModified: name == .tag ? nil : date
            )
        }
    }

    /// - Parameter place: index of the file that the n-th request for `/latest` is redirected to.
    private func handler(
        _ files: [FileResource],
        _ place: @escaping @Sendable (Int) -> Int
    ) -> DownloaderRig.Handler {
        let asked = CallCounter()
        return { request in
            switch request.path {
            case "/v0/disk.img": files[0].reply(to: request)
            case "/v1/disk.img": files[1].reply(to: request)
            default: .redirect(to: "/v\(place(asked.next()))/disk.img", status: 302)
            }
        }
    }

    private func isOneOf(_ files: [FileResource], _ rig: DownloaderRig) throws -> Bool {
        try files.contains { try rig.holdsOnly($0.content) }
    }

    @Test(arguments: Name.allCases)
    func connectionsOfOneDownloadBringOneFile(_ name: Name) async throws {
        let files = Self.files(name)
        let slow = files.map { $0.paced(400_000) }
        try await DownloaderRig.run(configure: { $0.share() }, serving: handler(slow) { $0 % 2 }) { rig in
            try await rig.download("/latest")
            #expect(try isOneOf(files, rig))
        }
    }

    @Test(arguments: Name.allCases)
    func aResumeThatIsRedirectedElsewhereJoinsNothing(_ name: Name) async throws {
        let files = Self.files(name)
        let handler = handler([files[0].silent(after: cut), files[1]]) { $0 == 1 ? 0 : 1 }
        try await DownloaderRig.run(serving: handler) { rig in
            let download = try await rig.paused(try rig.request("/latest"), at: cut)
            try await download.resume()
            _ = try await download.result()
            #expect(try rig.holdsOnly(files[1].content))
        }
    }

    @Test(arguments: Name.allCases)
    func endsWhereRedirectsLeadElsewhereEachTime(_ name: Name) async throws {
        let files = Self.files(name)
        let handler = handler([files[0].silent(after: cut), files[1]]) { $0 == 1 ? 0 : $0 % 2 }
        let whole = self.handler(files) { $0 % 2 }
        let isResumed = CallCounter()
        try await DownloaderRig.run(serving: { isResumed.value == 0 ? handler($0) : whole($0) }) { rig in
            let download = try await rig.paused(try rig.request("/latest"), at: cut)
            isResumed.next()
            try await download.resume()
            _ = try await download.result()
            #expect(try isOneOf(files, rig))
        }
    }

    @Test func comparesWhatAnotherHostHasAtTheSamePathUnderTheSameTag() async throws {
        let file = Self.files(.tag)[0]
        let asked = CallCounter()
        try await DownloaderRig.run(
            others: [{ file.silent(after: cut).reply(to: $0) }, { file.reply(to: $0) }],
            serving: { _, others in .redirect(to: others[asked.next() == 1 ? 0 : 1].url("/disk.img"), status: 302) }
        ) { rig in
            let download = try await rig.paused(try rig.request("/latest"), at: cut)
            try await download.resume()
            _ = try await download.result()
            #expect(try rig.holdsOnly(file.content))
            let ranges = rig.others[1].requests.map { $0["Range"] ?? "" }
            #expect(ranges.count > 1 && ranges.last == "bytes=\(cut)-")
        }
    }

    /// A load balancer with two unsynchronised servers, which both derive the tag from length and number.
    @Test(arguments: [true, false])
    func joinsNothingOfAnotherHostWithOtherBytesUnderTheSameTag(_ isShared: Bool) async throws {
        let files = Self.files(.both)
        let asked = CallCounter()
        let first = isShared ? files[0].paced(400_000) : files[0].silent(after: cut)
        let second = isShared ? files[1].paced(400_000) : files[1]
        try await DownloaderRig.run(
            others: [{ first.reply(to: $0) }, { second.reply(to: $0) }],
            configure: { if isShared { $0.share() } },
            serving: { _, others in .redirect(to: others[asked.next() == 1 ? 0 : 1].url("/disk.img"), status: 302) }
        ) { rig in
            if isShared {
                try await rig.download("/latest")
            } else {
                let download = try await rig.paused(try rig.request("/latest"), at: cut)
                try await download.resume()
                _ = try await download.result()
            }
            #expect(try isOneOf(files, rig))
        }
    }
}
