import Foundation
import HaulTesting
import Testing

@testable import HaulKit

struct URLConvertibleTests {
    @Test func addsWhateverIsAURL() async throws {
        try await DownloaderRig.runManyFiles { rig in
            let text = rig.server.url("/fast/a")
            let url = try #require(URL(string: rig.server.url("/fast/b")))
            let components = try #require(URLComponents(string: rig.server.url("/fast/c")))
            let one = try await rig.downloader.add("  \(text)\n", to: rig.folder)
            #expect(try await one.result().path == rig.folder + "/a")
            let shortest = try await rig.downloader.download(text, to: rig.folder)
            #expect(shortest.id == one.id)
            let results = await rig.downloader.add([url, "", components, "ftp://h/x"], to: rig.folder)
            #expect(results.count == 4)
            #expect(try await results[0].get().result().path == rig.folder + "/b")
            #expect(throws: DownloadError.self) { try results[1].get() }
            #expect(try await results[2].get().result().path == rig.folder + "/c")
            let refused = #expect(throws: DownloadError.self) { try results[3].get() }
            #expect(refused?.code == .unsupportedScheme)
        }
    }

    @Test func addsWhatIsListedWithItsNames() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let url = try #require(URL(string: rig.server.url("/fast/b")))
            let results = await rig.downloader.add(
                [
                    rig.server.url("/fast/a"): "one.bin", url: "sub/two.bin", "": "none.bin",
                    rig.server.url("/fast/a"): "three.bin", "http://h.example/x": "one.bin",
                    url: rig.root + "/elsewhere.bin",
                ],
                in: rig.folder
            )
            var paths: [String] = []
            for index in [0, 1, 3, 5] { paths.append(try await results[index].get().result().path) }
            #expect(
                paths == ["/one.bin", "/sub/two.bin", "/three.bin"].map { rig.folder + $0 } + [
                    rig.root + "/elsewhere.bin"
                ]
            )
            for (index, code) in [(2, DownloadError.Code.invalidURL), (4, .inUse)] {
                #expect(#expect(throws: DownloadError.self) { try results[index].get() }?.code == code)
            }
            await rig.downloader.shutDown()
            let late = await rig.downloader.add([url: "late.bin"], in: rig.folder)
            #expect(#expect(throws: DownloadError.self) { try late[0].get() }?.code == .shutDown)
        }
    }

    @Test func saysOfWhatIsNoneThatItIsNone() {
        var components = URLComponents()
        components.host = "h"
        components.path = "no slash"
        for none in ["", "http://[", components] as [any DownloadRequest.URLConvertible] {
            let error = #expect(throws: DownloadError.self) { try none.downloadURL() }
            #expect(error?.code == .invalidURL)
        }
    }

    @Test func findsTheNewestOfExactlyOneURL() async throws {
        try await DownloaderRig.runManyFiles(configure: { $0.storage.resumesAtStart = false }) { rig async throws in
            let url = rig.server.url("/slow/a%20b")
            #expect(try await rig.downloader.download(url: url)?.id == nil)
            let older = try await rig.downloader.add(url, to: rig.folder + "/1")
            let newer = try await rig.downloader.add(url, to: rig.folder + "/2")
            _ = try await rig.downloader.add(url + "c", to: rig.folder)
            #expect(try await rig.downloader.download(url: url)?.id == newer.id)
            #expect(try await rig.downloader.download(url: " \(rig.server.url("/slow/a b"))\n")?.id == newer.id)
            #expect(try await rig.downloader.download(url: #require(URL(string: url)))?.id == newer.id)
            #expect(try await rig.downloader.download(url: rig.server.url("/slow/a"))?.id == nil)
            try await newer.remove()
            #expect(try await rig.downloader.download(url: url)?.id == older.id)
            let none = await #expect(throws: DownloadError.self) { try await rig.downloader.download(url: "") }
            #expect(none?.code == .invalidURL)
            try await rig.reopened { downloader async throws in
                #expect(try await downloader.download(url: url)?.id == older.id)
            }
        }
    }
}
