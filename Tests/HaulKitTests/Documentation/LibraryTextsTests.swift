import Foundation
import Testing

/// Checks that the library's messages name no option of the command `haul`, because users of other applications read
/// them.
struct LibraryTextsTests {
    @Test func nameNoOptionOfTheCommand() throws {
        var found: [String] = []
        for module in ["Sources/HaulCore", "Sources/HaulKit"] {
            let folder = Checkout.root.appendingPathComponent(module)
            let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            // The options in this file are those of gpgv and minisign.
            for path in paths where path.hasSuffix(".swift") && path != "Sets/SignatureCheck.swift" {
                let source = try String(contentsOf: folder.appendingPathComponent(path), encoding: .utf8)
                for line in source.split(separator: "\n") where !line.drop(while: { $0 == " " }).hasPrefix("//") {
                    if line.contains(/"[^"]*(--[a-z]|same command)/) { found.append("\(path): \(line)") }
                }
            }
        }
        #expect(found == [])
    }
}
