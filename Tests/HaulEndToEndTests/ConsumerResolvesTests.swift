import Foundation
import HaulTesting
import Testing

/// Tests that the package and the program of the README work as pasted by a newcomer.
@Suite(.timeLimit(.minutes(60)))
struct ConsumerResolvesTests {
    private let haul = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Returns the README's Swift blocks.
    private func blocks() throws -> [String] {
        try String(contentsOf: haul.appendingPathComponent("README.md"), encoding: .utf8)
            .matches(of: /```swift\n([^`]+)```/).map { String($0.1) }
    }

    /// A dependent package resolves the dependencies of the library, and none that only the command or the
    /// documentation needs.
    @Test func resolvesNoArgumentParserAndNoWebServer() async throws {
        let folder = try TemporaryFolder()
        let manifest = try #require(try blocks().first { $0.hasPrefix("// swift-tools-version") })
        #expect(manifest.contains("path: \"../haul\""))
        try manifest.replacing("path: \"../haul\"", with: "path: \"\(haul.path)\"").write(
            toFile: folder("Package.swift"),
            atomically: true,
            encoding: .utf8
        )
        try FileManager.default.createDirectory(atPath: folder("Sources/app"), withIntermediateDirectories: true)
        try firstDownload().write(toFile: folder("Sources/app/main.swift"), atomically: true, encoding: .utf8)

        let result = try await ChildProcess.run(
            "env",
            // SwiftPM leaves its lock files in this folder.
            "TMPDIR=\(folder.path)",
            "swift",
            "package",
            "--package-path",
            folder.path,
            "show-dependencies",
            "--format",
            "flatlist"
        )
        #expect(result.status == 0, "\(result.errors)")
        let packages = result.output.split(whereSeparator: \.isNewline).map(String.init)
        #expect(packages.contains { $0.hasSuffix("async-http-client") })
        let unwanted = ["argument-parser", "hummingbird", "vapor", "docc"]
        #expect(!packages.contains { package in unwanted.contains { package.contains($0) } })
        let checkouts = try FileManager.default.contentsOfDirectory(atPath: folder(".build/checkouts"))
        #expect(!checkouts.contains { name in unwanted.contains { name.contains($0) } }, "\(checkouts)")
    }

    private func firstDownload() throws -> String {
        try #require(try blocks().first { $0.hasPrefix("import HaulKit\nlet file") })
    }

    @Test func theFirstDownloadHasFourLines() throws {
        #expect(try firstDownload().split(separator: "\n").count == 4)
    }

    /// The README shows the lines of Getting Started, and `DocumentationTests` requires that those are compiled.
    @Test func theFirstDownloadIsThatOfGettingStarted() throws {
        let article = haul.appendingPathComponent("Sources/HaulKit/HaulKit.docc/GettingStarted.md")
        let lines = try firstDownload().dropFirst("import HaulKit\n".count)
        #expect(try String(contentsOf: article, encoding: .utf8).contains("```swift\n\(lines)```"))
    }
}
