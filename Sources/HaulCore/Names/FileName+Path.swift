/// Names with subfolders, which only a Metalink document may choose.
extension FileName {
    /// Returns a path such as `a/b.iso` with every part made safe (RFC 5854 §4.1.2.1).
    ///
    /// - Returns: `nil` for a path that is not relative, has an empty part, `.` or `..`, has a part without any safe
    ///   character, has a backslash, or is longer than 1024 bytes. Such a path is not repaired.
    package static func safePath(_ raw: String) -> String? {
        guard raw.utf8.count <= 1024, !raw.utf8.contains(UInt8(ascii: "\\")) else { return nil }
        // Splits bytes, because a slash and a combining mark behind it form another character.
        let parts = raw.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let safe = parts.compactMap { self.safe(String(Substring($0))) }
        return safe.count == parts.count ? safe.joined(separator: "/") : nil
    }
}
