import Foundation

@testable import HaulCore
@testable import HaulKit

/// File names and URLs.
extension FuzzTarget {
    static let names: [FuzzTarget] = [
        FuzzTarget(
            text: "names",
            ["a.zip", "../../etc/passwd", "..\\x", "CON.txt", "a\u{202E}gpj.exe", "%2e%2e%2fx", ".bashrc", "-rf"]
        ) { text in
            if let wrong = FileName.safe(text).flatMap(unsafe) { return wrong }
            if let safe = FileName.safe(text), FileName.safe(safe) != safe { return "\(safe) changes once more" }
            for index in 0...2 {
                guard let safe = FileName.safe(text) else { break }
                let name = FileName.candidate(safe, index)
                if name.utf8.count + FilePaths.partSuffix.utf8.count > 255 { return "\(name.utf8.count) bytes" }
            }
            if let path = FileName.safePath(text) {
                if let wrong = parts(path).lazy.compactMap(unsafe).first { return "\(path): \(wrong)" }
            }
            return unsafe(FileName.choose(contentDisposition: text, suggested: text, urls: []))
        },
        FuzzTarget(
            text: "Content-Disposition",
            [
                "attachment; filename=\"a.zip\"", "attachment; filename*=UTF-8''%e2%82%ac%20rates.txt",
                "inline; filename=a.b; x=\"\\\"\"",
                "attachment; filename=\"=?utf-8?B?4oKs?=\"",
                "attachment; filename=\"=?iso-8859-1?Q?a=E9?=\"; filename*=iso-8859-1'en'%A3",
            ]
        ) { text in
            guard let url = URL(string: "http://a.example/") else { return nil }
            _ = ContentDisposition.fileName(text)
            return unsafe(FileName.choose(contentDisposition: text, urls: [url]))
        },
        FuzzTarget(
            text: "URLs",
            [
                "http://a.example/b%20c?d=e#f", "https://user:pass@a.example:8443/dir/caf%E9.zip", "http://[::1]:80/",
                "HTTP://A.example",
                "http://a.example/a%20b c.zip", "http://münchen.example/ä?{x|y}", "//a.example/x",
                "http://a.example:99999/",
            ]
        ) { text in
            guard let url = try? text.downloadURL() else { return nil }
            if let name = FileName.from(url: url), let wrong = unsafe(name) { return wrong }
            guard url.isAskable else { return nil }
            _ = Origin(url)
            _ = url.masked
            if url.withoutUserInfo().user(percentEncoded: false) != nil { return "the user stays in \(url.masked)" }
            return url.absoluteString.utf8.contains { $0 <= 0x20 || $0 >= 0x7F }
                ? "\(url) has bytes that no URL has" : nil
        },
        FuzzTarget(
            text: "Location",
            [
                "/b", "http://two.example/c", "../d?e=f#g", "https://u:p@a.example/", "?x", "http://[", "caf\u{E9}",
                "//b.example/a b",
            ]
        ) { text in
            guard let url = URL(string: "https://user:secret@one.example/a/b?c#frag") else { return nil }
            var policy = RedirectPolicy(url, allowsInsecure: false)
            do throws(TransportError) { try policy.follow(location: text) } catch { return nil }
            guard policy.url.isAskable else { return "\(policy.url.masked) cannot be asked" }
            if policy.url.scheme?.lowercased() != "https" { return "it leaves https for \(policy.url.masked)" }
            if policy.carriesUserHeaders, Origin(policy.url) != Origin(url) {
                return "the user's fields go to \(policy.url.masked)"
            }
            return nil
        },
    ]

    /// Splits by bytes, as the system does: a combining mark after a slash makes another character of it.
    static func parts(_ path: String) -> [String] {
        path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map { String(Substring($0)) }
    }

    /// Returns the reason why `name` must not be a file name; `nil` if it may be one.
    static func unsafe(_ name: String) -> String? {
        if name.isEmpty || name == "." || name == ".." { return "“\(name)” is no name" }
        if name.utf8.count > 255 - FilePaths.partSuffix.utf8.count { return "\(name.utf8.count) bytes" }
        if name.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") || $0 == 0 }) {
            return "a separator in \(name)"
        }
        if name.utf8.first == UInt8(ascii: ".") || name.utf8.first == UInt8(ascii: "-") {
            return "\(name) is hidden, or an option"
        }
        if name.lowercased().hasSuffix(FilePaths.partSuffix) { return "\(name) looks like a partial file" }
        for scalar in name.unicodeScalars {
            // Joiners change the appearance of emoji and some scripts, and the Arabic signs before a number are
            // visible.
            if scalar == "\u{200D}" || scalar == "\u{200C}" || prefixes.contains(scalar.value) { continue }
            switch scalar.properties.generalCategory {
            case .control, .format, .surrogate, .privateUse, .lineSeparator, .paragraphSeparator:
                return "U+\(String(scalar.value, radix: 16, uppercase: true)) cannot be seen"
            default: break
            }
        }
        return nil
    }

    /// Visible characters that Unicode classes as format (Prepended_Concatenation_Mark).
    private static let prefixes: Set<UInt32> = [
        0x600, 0x601, 0x602, 0x603, 0x604, 0x605, 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD,
    ]
}
