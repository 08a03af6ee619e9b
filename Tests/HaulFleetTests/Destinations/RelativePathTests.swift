import Testing

@testable import HaulFleet

@Suite struct RelativePathTests {
    @Test(arguments: [
        ("a", "", "a"), ("a/b", "a", "b"), ("a/b/c.txt", "a/b", "c.txt"), ("...", "", "..."),
        (".hidden/x", ".hidden", "x"),
        ("a b/ü%~*@+.bin", "a b", "ü%~*@+.bin"), ("x/.haul-fleet/y", "x/.haul-fleet", "y"), ("a/\n", "a", "\n"),
    ])
    func `A path below the root is cut into its folders and its name`(text: String, parent: String, name: String) throws
    {
        let path = try RelativePath(text)
        #expect(path.parent == parent)
        #expect(path.name == name)
    }

    @Test(arguments: [
        "", "/", "/a", "//a", "a//b", "a/", ".", "..", "./a", "../a", "a/..", "a/../b", "a/./b", "a\0b", "\0",
        ".haul-fleet",
        ".haul-fleet/worker/x", ".HAUL-Fleet/x", ".haul-fleet. ./x",
        Array(repeating: "d", count: 65).joined(separator: "/") + "/x",
    ])
    func `A path that could leave the root is refused with a sentence`(text: String) {
        #expect {
            _ = try RelativePath(text)
        } throws: { error in
            let error = error as? FleetError
            return error?.code == .invalidInput && error?.isRetryable == false && error?.message.hasSuffix(".") == true
        }
    }

    @Test func `A message shows no line breaks and no more than 200 characters of a path`() {
        let quoted = RelativePath.quoted("a\nb\u{1B}[31m" + String(repeating: "x", count: 1000))
        #expect(quoted.hasPrefix("\"a?b?[31mxx"))
        #expect(quoted.count == 203)
    }
}
