import Testing

@testable import HaulDesktop

struct DBusTypeTests {
    @Test(arguments: [
        "", "s", "ybnqiuxtdsoghv", "as", "aas", "a{sv}", "a(sv)", "(i(ss)a{s(yy)})", "aa{oa{sv}}",
        String(repeating: "a", count: 32) + "s",
        String(repeating: "(", count: 32) + "s" + String(repeating: ")", count: 32),
    ])
    func readsAndWritesSignatures(signature: String) throws {
        #expect(try DBusType.read(signature.utf8).map(\.code).joined() == signature)
    }

    @Test(arguments: [
        "a", "(", ")", "()", "{sv}", "a{sv", "a{s}", "a{vs}", "a{ass}", "a{(s)s}", "(s", "z", "a{sv}}", "a{", "e", "r",
        String(repeating: "a", count: 33) + "s",
        String(repeating: "(", count: 33) + "s" + String(repeating: ")", count: 33),
        String(repeating: "s", count: 256),
        String(repeating: "(", count: 255),
        String(repeating: "a", count: 255),
    ])
    func refusesWhatIsNone(signature: String) {
        #expect(throws: DBusError.malformed) { try DBusType.read(signature.utf8) }
    }

    @Test(arguments: ["/", "/a", "/org/freedesktop/DBus", "/a_1/B2"])
    func isObjectPath(path: String) { #expect(DBusValue.isObjectPath(path)) }

    @Test(arguments: ["", "a", "/a/", "//", "/a//b", "/a-b", "/ä", "/a b"])
    func isNoObjectPath(path: String) { #expect(!DBusValue.isObjectPath(path)) }
}
