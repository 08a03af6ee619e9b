internal import Foundation

/// The values of a source as Metalink documents and `Link` fields write them.
extension Metalink.Source {
    /// - Parameter base: what a relative reference is relative to; without it there is none.
    /// - Returns: nil for what is no `http` or `https` URL that can be asked.
    static func url(_ text: String, relativeTo base: URL? = nil) -> HTTPURL? {
        guard text.utf8.count <= 8192 else { return nil }
        guard let base else { return HTTPURL(text) }
        return HTTPURL(base).flatMap { HTTPURL(text, relativeTo: $0) }
    }

    /// - Returns: nil for what is not a number from 1 to ``lowestPriority``: RFC 5854, 4.2.16.1, and RFC 6249, 3.1.
    static func priority(_ text: String) -> Int? {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let priority = Int(text),
            (1...lowestPriority).contains(priority)
        else { return nil }
        return priority
    }

    /// - Returns: nil for what is not two letters.
    static func location(_ text: String) -> String? {
        let code = text.lowercased()
        return code.utf8.count == 2 && code.utf8.allSatisfy { (0x61...0x7A).contains($0) } ? code : nil
    }
}
