import Foundation

@testable import HaulCore
@testable import HaulDesktop
@testable import HaulKit

/// Parsers of messages from the kernel and from D-Bus.
extension FuzzTarget {
    static let messages: [FuzzTarget] = [
        FuzzTarget(
            "netlink",
            [
                "\u{20}\0\0\0\u{10}\0\0\0\u{1}\0\0\0\0\0\0\0\0\0\u{1}\0\u{2}\0\0\0\u{43}\0\0\0\0\0\0\0",
                "\u{10}\0\0\0\u{3}\0\0\0\u{1}\0\0\0\0\0\0\0",
                "\u{24}\0\0\0\u{14}\0\0\0\u{1}\0\0\0\0\0\0\0\u{2}\u{18}\0\0\u{2}\0\0\0\u{8}\0\u{1}\0\u{a}\0\0\u{1}\0\0\0\0",
            ]
        ) { bytes in
            let messages = NetlinkMessage.parse(bytes[...])
            var table = LinkTable()
            _ = table.begin()
            _ = table.take(messages)
            _ = table.status
            return messages.count * 16 <= bytes.count ? nil : "\(messages.count) messages in \(bytes.count) bytes"
        },
        FuzzTarget("D-Bus", dbusSeeds) { bytes in
            guard bytes.count >= DBusMessage.prefixBytes,
                let length = try? DBusMessage.length(Array(bytes.prefix(DBusMessage.prefixBytes)))
            else {
                return nil
            }
            if length < DBusMessage.prefixBytes || length > DBusMessage.mostBytes { return "\(length) bytes" }
            guard let message = try? DBusMessage(bytes), let again = try? message.encoded() else { return nil }
            return (try? DBusMessage(again)) != nil ? nil : "it cannot read what it has written"
        },
        FuzzTarget(text: "types of D-Bus", ["a{sv}", "(ii)", "aaaa(y)", "v"]) { text in
            guard let types = try? DBusType.read(text.utf8) else { return nil }
            let code = types.map(\.code).joined()
            return code.utf8.elementsEqual(text.utf8) ? nil : "\(text) is read as \(code)"
        },
    ]

    /// Valid messages as texts of Latin-1, because seeds are texts.
    private static let dbusSeeds: [String] = {
        let entry = DBusValue.entry(.string("k"), .variant(.byte(1)))
        var call = DBusMessage.toBus("Hello", [.string("a"), .uint32(7), .array(of: entry.type, [entry])])
        call.serial = 1
        let bytes = (try? call.encoded()) ?? []
        return [String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))]
    }()
}
