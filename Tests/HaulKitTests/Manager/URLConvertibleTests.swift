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

    @Test func saysOfWhatIsNoneThatItIsNone() {
        var components = URLComponents()
        components.host = "h"
        components.path = "no slash"
        for none in ["", "http://[", components] as [any URLConvertible] {
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
