import Foundation

@testable import HaulCore

/// Returns the URL of a literal in a test.
func link(_ text: String) -> URL { URL(string: text) ?? URL(fileURLWithPath: "/unreadable") }

extension ResponseHead {
    /// Returns the head of an answer, by default from `https://files.example/a.iso`.
    static func answer(
        _ status: Int,
        _ fields: KeyValuePairs<String, String> = [:],
        from url: String = "https://files.example/a.iso",
        asked: String = "https://files.example/a.iso"
    ) -> ResponseHead {
        ResponseHead(
            status: status,
            headers: HeaderFields(fields.map { ($0.key, $0.value) }),
            url: link(url),
            requested: link(asked)
        )
    }
}
