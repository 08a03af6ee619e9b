import Testing

@testable import HaulFleet

@Suite struct PathRuleTests {
    private static let long = String(repeating: "x", count: 256)

    private func message(_ path: String, at destination: String?) throws -> String? {
        var parser = ListParser(format: .jsonLines, name: "list", rule: PathRule(destination: destination))
        let lines = [#"{"url":"https://h.example/a"}"#, #"{"url":"https://h.example/b","path":"\#(path)"}"#]
        parser.append(Array((lines.joined(separator: "\n") + "\n").utf8))
        parser.finish()
        _ = try parser.next()
        do throws(FleetError) {
            _ = try parser.next()
            return nil
        } catch { return error.message }
    }

    @Test(arguments: [
        ("/etc/passwd", "is absolute"), ("a/../../b", "has a part . or .."), ("a//b", "has an empty part"),
        ("a/", "has an empty part"), (".haul-fleet/x", "lies in .haul-fleet, which Haul keeps for itself"),
        ("a/\(long)/b", "has a part of more than 255 bytes"), ("\(long)", "has a part of more than 255 bytes"),
    ])
    func `A path that a folder cannot have is refused with the number of its line`(path: String, fault: String) throws {
        let message = try message(path, at: "/data")
        #expect(message?.hasPrefix("list, line 2 has the path \"") == true)
        #expect(message?.hasSuffix("\", which \(fault).") == true)
    }

    @Test(arguments: ["a", "a/b", ".hidden/x", "x/.haul-fleet/y"])
    func `A path that a folder can have is taken`(path: String) throws {
        #expect(try message(path, at: "/data") == nil)
    }

    @Test func `A key may have any parts and up to 1024 bytes with the prefix`() throws {
        for destination in ["s3://bucket/a/prefix", "s3://bucket/a/prefix?region=eu-1"] {
            #expect(try message("a//../\(Self.long)", at: destination) == nil)
            #expect(try message(String(repeating: "k", count: 1015), at: destination) == nil)
            let message = try message(String(repeating: "k", count: 1016), at: destination)
            #expect(message?.hasSuffix("which makes a key of more than 1024 bytes.") == true)
        }
        #expect(try message(String(repeating: "k", count: 1024), at: "s3://bucket") == nil)
    }

    @Test func `Without a destination every path is taken`() throws {
        #expect(try message("/a/..", at: nil) == nil)
    }
}
