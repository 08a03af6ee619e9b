import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Line 17 of `docs/practice-list.md`: names that a server chooses.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct NameFaultTests {
    private let content = TestContent(seed: 1, count: 20_000)

    /// Downloads into the folder and returns the name of the file. Nothing may appear outside the folder.
    private func name(target: String = "/file.bin", disposition: String? = nil) async throws -> String {
        var resource = content.resource()
        resource.extraHeaders = disposition.map { [("Content-Disposition", $0)] } ?? []
        var name = ""
        try await DownloaderRig.run(serving: resource) { rig in
            let before = try FileManager.default.contentsOfDirectory(atPath: rig.root).sorted()
            let done = try await rig.download(target) { $0.destination = .folder(path: rig.folder) }
            name = FilePaths.name(of: done.path)
            #expect(FilePaths.folder(of: done.path) == rig.folder)
            #expect(try rig.holdsOnly(content, named: name))
            #expect(try FileManager.default.contentsOfDirectory(atPath: rig.root).sorted() == before)
        }
        return name
    }

    @Test(arguments: [
        ("attachment; filename=\"../../evil\"", "evil"), ("attachment; filename=\"/etc/passwd\"", "passwd"),
        ("attachment; filename=\"..\\\\..\\\\evil.exe\"", "evil.exe"), ("attachment; filename=\"..\"", "file.bin"),
        ("attachment; filename=\".\"", "file.bin"), ("attachment; filename=\"\"", "file.bin"),
        ("attachment; filename=\".bashrc\"", "bashrc"), ("attachment; filename=\"-rf\"", "rf"),
        ("attachment; filename*=UTF-8''..%2F..%2Fevil", "evil"),
        ("attachment; filename*=UTF-8''evil%00.txt", "evil.txt"),
        ("attachment; filename*=UTF-8''photo%E2%80%AEgpj.exe", "photogpj.exe"),
        ("attachment; filename=\"CON\"", "_CON"), ("attachment; filename=\"name. . \"", "name"),
        ("attachment; filename=\"a\tb\"", "ab"), ("attachment; filename=\"x.haulpart\"", "x_haulpart"),
        ("attachment; filename=plain.txt; filename*=UTF-8''%E2%82%AC.txt", "€.txt"), ("garbage;;;=\"", "file.bin"),
    ])
    func takesASafeNameFromTheHeader(_ header: String, _ expected: String) async throws {
        #expect(try await name(disposition: header) == expected)
    }

    @Test(arguments: [
        ("/", "download"), ("/a/b/c.tar.gz?x=/../y#z", "c.tar.gz"), ("/..%2f..%2fetc%2fpasswd", "passwd"),
        ("/%2e%2e", "download"), ("/dir/%2e%2e%5cevil", "evil"), ("/a%00b", "ab"), ("/.profile", "profile"),
        ("/with%20space.txt", "with space.txt"), ("/folder/", "folder"), ("/%FF%FE", "ÿþ"),
        ("/nul.txt", "_nul.txt"), ("/a%0Ab", "ab"),
    ])
    func takesASafeNameFromTheURL(_ target: String, _ expected: String) async throws {
        #expect(try await name(target: target) == expected)
    }

    @Test func shortensANameThatNoFileSystemTakes() async throws {
        let long = String(repeating: "ä", count: 400) + ".tar.gz"
        let name = try await name(disposition: "attachment; filename*=UTF-8''" + long.addingPercent())
        #expect(name.hasSuffix("ä.tar.gz"))
        #expect(name.utf8.count <= FileName.maximumBytes)
    }

    @Test func takesTheNameOfThePlaceThatARedirectLeadsTo() async throws {
        let resource = content.resource()
        try await DownloaderRig.run(
            serving: { $0.path == "/get" ? .redirect(to: "/release/tool-1.2.zip") : resource.reply(to: $0) }
        ) { rig in
            try await rig.download("/get?id=7") { $0.destination = .folder(path: rig.folder) }
            #expect(try rig.holdsOnly(content, named: "tool-1.2.zip"))
        }
    }

    @Test func doesNotTakeAHostileNameFromARedirect() async throws {
        let resource = content.resource()
        try await DownloaderRig.run(
            serving: { $0.path == "/get" ? .redirect(to: "/x/..%2f.bashrc") : resource.reply(to: $0) }
        ) { rig in
            try await rig.download("/get") { $0.destination = .folder(path: rig.folder) }
            #expect(try rig.holdsOnly(content, named: "bashrc"))
        }
    }
}

extension String {
    fileprivate func addingPercent() -> String {
        addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? self
    }
}
