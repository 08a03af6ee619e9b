import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

struct URLConvertibleTests {
    @Test func addsWhateverIsAURL() async throws {
        try await DownloaderRig.runManyFiles { rig in
            let text = rig.server.url("/fast/a")
            let url = try #require(URL(string: rig.server.url("/fast/b")))
            let components = try #require(URLComponents(string: rig.server.url("/fast/c")))
            let one = try await rig.downloader.download("  \(text)\n", to: rig.folder)
            #expect(try await one.result().path == rig.folder + "/a")
            let shortest = try await rig.downloader.download(text, to: rig.folder)
            #expect(shortest.id == one.id)
            #expect(try await rig.downloader.download(url, to: rig.folder).result().path == rig.folder + "/b")
            #expect(try await rig.downloader.download(components, to: rig.folder).result().path == rig.folder + "/c")
        }
    }

    @Test func makesARequestInOneExpression() throws {
        let destination = DownloadRequest.Destination.folder(path: "/d")
        let url = try #require(URL(string: "https://h.example/a"))
        #expect(try DownloadRequest("https://h.example/a", to: destination) == DownloadRequest(url, to: destination))
        var full = DownloadRequest(url, to: destination)
        (full.headers, full.suggestedName) = ([HeaderField("A", "1"), HeaderField("B", "2")].compactMap(\.self), "n")
        (full.checksum, full.size, full.bytesPerSecond) = (try .init("md5:" + String(repeating: "0", count: 32)), 5, 6)
        (full.maxConnections, full.onConflict) = (2, .overwrite)
        (full.failsOnChange, full.resumesUnverified, full.setsModificationTime) = (true, true, true)
        full.allowsInsecureRedirects = true
        (full.key, full.group, full.owner) = ("k", "g", "o")
        full.metadata = try DownloadRequest.Metadata(["a": 1])
        (full.priority, full.startsPaused, full.onDuplicate) = (3, true, .refuse)
        full.mirrorURLs = [url]
        let made = try DownloadRequest(
            "https://h.example/a",
            to: destination,
            headers: ["B": "2", "A": "1"],
            suggestedName: "n",
            mirrorURLs: [url],
            checksum: full.checksum,
            size: 5,
            bytesPerSecond: 6,
            maxConnections: 2,
            onConflict: .overwrite,
            failsOnChange: true,
            resumesUnverified: true,
            setsModificationTime: true,
            allowsInsecureRedirects: true,
            key: "k",
            group: "g",
            owner: "o",
            metadata: full.metadata,
            priority: 3,
            startsPaused: true,
            onDuplicate: .refuse
        )
        #expect(made == full)
        let error = #expect(throws: DownloadError.self) {
            try DownloadRequest("https://h.example/a", to: destination, headers: ["A": "1\r\nB: 2"])
        }
        #expect(error?.code == .invalidHeader && error?.message.contains("B: 2") == false)
    }

    @Test func takesFoldersAndFilesAsURLs() async throws {
        try await DownloaderRig.runManyFiles { rig in
            let folder = URL(fileURLWithPath: rig.folder + "/caf\u{E9} 1%20", isDirectory: true)
            let one = try await rig.downloader.download(rig.server.url("/fast/a"), to: folder).result()
            #expect(one.path == rig.folder + "/caf\u{E9} 1%20/a")
            let source = try #require(URL(string: rig.server.url("/fast/c")))
            let file = DownloadRequest(source, to: .file(folder.appendingPathComponent("named.bin")))
            #expect(try await rig.downloader.add(file).result().path == rig.folder + "/caf\u{E9} 1%20/named.bin")
            for none in ["https://h.example/folder", "file:///tmp/%E9", "file://"] {
                let folder = try #require(URL(string: none))
                let error = await #expect(throws: DownloadError.self) {
                    try await rig.downloader.download(source, to: folder)
                }
                #expect(error?.code == .invalidDestination, "\(none)")
            }
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
            #expect(try await rig.downloader.find(url: url)?.id == nil)
            let older = try await rig.downloader.download(url, to: rig.folder + "/1")
            let newer = try await rig.downloader.download(url, to: rig.folder + "/2")
            _ = try await rig.downloader.download(url + "c", to: rig.folder)
            #expect(try await rig.downloader.find(url: url)?.id == newer.id)
            #expect(try await rig.downloader.find(url: " \(rig.server.url("/slow/a b"))\n")?.id == newer.id)
            #expect(try await rig.downloader.find(url: #require(URL(string: url)))?.id == newer.id)
            #expect(try await rig.downloader.find(url: rig.server.url("/slow/a"))?.id == nil)
            try await newer.remove()
            #expect(try await rig.downloader.find(url: url)?.id == older.id)
            let none = await #expect(throws: DownloadError.self) { try await rig.downloader.find(url: "") }
            #expect(none?.code == .invalidURL)
            try await rig.reopened { downloader async throws in
                #expect(try await downloader.find(url: url)?.id == older.id)
            }
        }
    }
}
