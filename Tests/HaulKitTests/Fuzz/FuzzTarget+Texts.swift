import Foundation

@testable import HaulCore
@testable import HaulKit

/// Parsers that make text or URLs of bytes.
extension FuzzTarget {
    static let texts: [FuzzTarget] = [
        FuzzTarget(
            "targets of requests",
            ["/a%20b c", "/caf\u{E9}.zip", "/x?{y|z}&q=%zz#f", "/a//b;c=d", "/\u{C3}\u{A9}/%41%", "/'\"<>^`[]"]
        ) { bytes in
            guard let url = HTTPURL("http://a.example" + SpelledURL.text(bytes[...])) else { return nil }
            if let wrong = wrong(url) { return wrong }
            let asked = bytes.prefix { $0 != UInt8(ascii: "#") }
            // Other inputs are rewritten by rule, so their targets differ from the spelling.
            let path = asked.prefix { $0 != UInt8(ascii: "?") }
            guard asked.first == UInt8(ascii: "/"), asked.allSatisfy({ $0 > 0x20 }), !path.contains(UInt8(ascii: "\\")),
                !path.split(separator: UInt8(ascii: "/")).contains(where: { isDots($0) })
            else { return nil }
            var sent = Array(url.target.utf8)[...]
            for byte in asked {
                if sent.first == byte {
                    sent = sent.dropFirst()
                } else {
                    guard sent.prefix(3).elementsEqual(FieldText.escaped(byte)) else {
                        return "\(String(decoding: asked, as: UTF8.self).debugDescription) is asked as \(url.target)"
                    }
                    sent = sent.dropFirst(3)
                }
            }
            return sent.isEmpty ? nil : "\(url.target) has something more"
        },
        FuzzTarget(
            text: "references",
            ["../x/./y", "?q", "//b.example:81/c", "http:d", "HTTPS://u:p@[::1]/e?f#g", "\\\\x\\y", "", "a b/%2e%2E/c"]
        ) { text in
            for base in [
                "http://one.example/a/b?c", "https://u:p@[fe80::1%25eth0]:8443", "http://caf\u{E9}.example/{x}/",
            ] {
                guard let base = HTTPURL(base) else { return "\(base) is a URL" }
                guard let found = HTTPURL(text, relativeTo: base) else { continue }
                if let wrong = wrong(found) { return wrong }
                // The base has no influence on an absolute URL.
                guard let again = HTTPURL(found.url.absoluteString, relativeTo: base), again.url == found.url else {
                    return "\(found.url) leads elsewhere when it is read again"
                }
                if !found.target.hasPrefix("//"), HTTPURL(found.target, relativeTo: found)?.target != found.target {
                    return "\(found.target) is another one beside itself"
                }
            }
            return nil
        },
        // Each input is the name of an encoding, a line feed, and bytes in that encoding.
        FuzzTarget(
            "encodings",
            [
                "utf-8\nab\u{C3}\u{A9}", "ISO-8859-15\na\u{A4}", "windows-1251\n\u{CF}\u{F0}", "cp437\nx",
                "latin1:1987\n\u{80}\u{81}",
            ]
        ) { bytes in
            let end = bytes.firstIndex(of: 0x0A) ?? bytes.endIndex
            let rest = bytes[end...].dropFirst()
            let decoded = FieldText.decoded(rest)
            if rest.allSatisfy({ $0 < 0x80 }), !decoded.utf8.elementsEqual(rest) { return "\(decoded) is plain" }
            for name in ["etag", "Location"] {
                let isText = String(validating: rest, as: UTF8.self) != nil
                guard let value = FieldText.utf8(rest, of: name.utf8) else {
                    if isText { continue }
                    return "bytes that are no UTF-8 stay"
                }
                if isText || String(validating: value, as: UTF8.self) == nil { return "\(value)" }
            }
            guard let charset = Charset(label: String(decoding: bytes[..<end], as: UTF8.self)),
                let text = charset.text(rest)
            else { return nil }
            if charset != .utf8, text.unicodeScalars.count != rest.count { return "\(text) has another length" }
            for (scalar, byte) in zip(text.unicodeScalars, rest) where charset != .utf8 && byte < 0x80 {
                if scalar != Unicode.Scalar(byte) { return "\(scalar) in place of \(byte)" }
            }
            return text.unicodeScalars.contains("\u{FFFD}") && charset != .utf8 ? "a character that means nothing" : nil
        },
        FuzzTarget(
            text: "visible text",
            [
                "a\u{200B}b\u{202E}c", "\u{1F468}\u{200D}\u{1F469}", "\u{1B}[31mred\u{7}",
                "\u{915}\u{94D}\u{200D}\u{937}",
                "#\u{FE0F}\u{20E3}", "\u{E0041}\u{FFF9}\u{AD}", "line\u{2028}\u{85}end",
            ]
        ) { text in
            let cleaned = VisibleText.cleaned(text)
            if VisibleText.cleaned(cleaned) != cleaned { return "\(cleaned.debugDescription) changes once more" }
            if cleaned.unicodeScalars.contains(where: isControl) { return "a control character" }
            if text.unicodeScalars.allSatisfy({ $0.isASCII && !isControl($0) }), cleaned != text {
                return "\(text) is plain"
            }
            return nil
        },
        FuzzTarget(
            text: "what a program printed",
            [
                "https://a.example/x?y\nAuthorization: z\n\nX: y", "\n", "ftp://x", "http://a b/",
                "http://a.example\r\nX y",
            ]
        ) { text in
            guard let source = try? PrintedSource(text) else { return nil }
            guard source.url.isAskable else { return "\(source.url.masked) cannot be asked" }
            for field in source.headers where HeaderField(field.name, field.value) == nil { return "\(field)" }
            return nil
        },
        FuzzTarget(
            text: "reasons of TLS",
            ["error:100000f7:SSL routines:OPENSSL_internal:WRONG_VERSION_NUMBER", "x/y"]
        ) {
            text in
            let failure = TransportError(TLSFailure(text))
            return failure.detail.contains("/") ? failure.detail : nil
        },
    ]

    private static func wrong(_ url: HTTPURL) -> String? {
        guard url.url.isAskable else { return "\(url.url.masked) cannot be asked" }
        if url.target.utf8.first != UInt8(ascii: "/") { return "the target \(url.target)" }
        if !url.target.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) { return "odd bytes in \(url.target)" }
        if url.target.utf8.contains(UInt8(ascii: "#")) { return "a fragment in \(url.target)" }
        guard let again = HTTPURL(url.url.absoluteString), again.url == url.url else {
            return "\(url.url) is read as another"
        }
        // The spelling that the store keeps must lead to the same URL.
        guard HTTPURL(url.url, target: url.spelling) == url else { return "\(url) is not kept" }
        return nil
    }

    private static func isDots(_ segment: ArraySlice<UInt8>) -> Bool {
        let text = String(decoding: segment, as: UTF8.self).lowercased().replacingOccurrences(of: "%2e", with: ".")
        return text == "." || text == ".."
    }
}
