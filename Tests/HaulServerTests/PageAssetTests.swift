import Foundation
import HummingbirdTesting
import NIOCore
import NIOFoundationCompat
import Testing

@testable import HaulServer

@Suite struct PageAssetTests {
    private let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Sources/CHaulPage/page")

    @Test func theTableIsTheFolder() throws {
        let assets = PageAssets().assets
        var names: Set<String> = ["openapi.json"]
        let files = try #require(
            FileManager.default.enumerator(at: folder, includingPropertiesForKeys: [.isRegularFileKey])
        )
        while let file = files.nextObject() as? URL {
            guard try file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true else { continue }
            let name = String(file.path.dropFirst(folder.path.count + 1))
            names.insert(name)
            let asset = try #require(assets[name], "\(name): run Scripts/embedded-files")
            #expect(Data(buffer: asset.body) == (try Data(contentsOf: file)), "\(name)")
        }
        #expect(Set(assets.keys) == names)
    }

    /// The page loads nothing from another host, and nothing that a strict Content Security Policy refuses.
    @Test func thePageNeedsNoOtherHostAndNoInlineScript() throws {
        for (name, asset) in PageAssets().assets where name != "openapi.json" {
            let text = String(buffer: asset.body)
            guard name.hasSuffix(".html") || name.hasSuffix(".js") || name.hasSuffix(".css") else { continue }
            let addresses = text.matches(
                of: /(?:src|href|action)="https?:|url\(["']?https?:|(?:fetch|import)\(["']https?:|from "https?:/
            )
            #expect(addresses.isEmpty, "\(name)")
            for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"] {
                #expect(!text.contains(word), "\(name): \(word)")
            }
            if name.hasSuffix(".html") {
                #expect(!text.contains(" style=\"") && !text.contains("<style") && !text.contains(" onclick="))
                #expect(text.matches(of: /<script(?![^>]*\bsrc=)/).isEmpty)
            }
        }
    }
}
