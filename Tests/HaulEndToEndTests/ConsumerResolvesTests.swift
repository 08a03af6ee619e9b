import Foundation
import Testing

/// A package that depends on Haul gets what the library needs, and nothing of what only the command needs.
@Suite(.timeLimit(.minutes(10)))
struct ConsumerResolvesTests {
    @Test func resolvesNoArgumentParserAndNoWebServer() async throws {
        let haul = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().path
        let folder = try TemporaryFolder()
        let manifest = """
            // swift-tools-version: 6.2
            import PackageDescription
            let package = Package(
                name: "consumer",
                platforms: [.macOS(.v15)],
                dependencies: [.package(name: "haul", path: "\(haul)")],
                targets: [.executableTarget(name: "consumer", dependencies: [.product(name: "HaulKit", package: "haul")])])
            """
        try manifest.write(toFile: folder("Package.swift"), atomically: true, encoding: .utf8)
        try FileManager.default.createDirectory(atPath: folder("Sources/consumer"), withIntermediateDirectories: true)
        try "import HaulKit\nprint(haulVersion)\n".write(
            toFile: folder("Sources/consumer/main.swift"),
            atomically: true,
            encoding: .utf8
        )

        let result = try await ChildProcess.run(
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
        #expect(
            !packages.contains { $0.contains("argument-parser") || $0.contains("hummingbird") || $0.contains("vapor") }
        )
        let checkouts = try FileManager.default.contentsOfDirectory(atPath: folder(".build/checkouts"))
        #expect(!checkouts.contains { $0.contains("argument-parser") }, "\(checkouts)")
    }
}
