/// A path from a list that stays below its root folder, whatever the list contains.
///
/// This type does not check symbolic links; ``FolderTree`` follows none.
struct RelativePath: Sendable, Hashable {
    /// Name of the folder at the root in which workers keep incomplete files.
    static let reserved = ".haul-fleet"
    /// Maximum number of folders above a file. Each needs a descriptor while a batch is published.
    static let mostFolders = 64

    /// Maximum length of a part in bytes, of every common file system.
    private static let longestPart = 255

    /// Folders above the file, separated by slashes; empty for a file directly below the root.
    let parent: String
    let name: String

    /// Checks a path.
    ///
    /// - Throws: ``FleetError/Code/invalidInput`` with a sentence that names the path.
    init(_ text: String) throws(FleetError) {
        if let fault = Self.fault(in: text) {
            throw FleetError(.invalidInput, "The path \(Self.quoted(text)) \(fault).")
        }
        let slash = text.utf8.lastIndex(of: UInt8(ascii: "/"))
        parent = slash.map { String(text[..<$0]) } ?? ""
        name = String(text[(slash.map { text.utf8.index(after: $0) } ?? text.startIndex)...])
    }

    /// Returns why a text is no such path, as the rest of a sentence that begins with the path; `nil` if it is one.
    static func fault(in text: String) -> String? {
        guard !text.utf8.isEmpty else { return "is empty" }
        guard !text.utf8.contains(0) else { return "holds a NUL character" }
        var (start, folders) = (text.utf8.startIndex, 0)
        while true {
            let end = text.utf8[start...].firstIndex(of: UInt8(ascii: "/")) ?? text.utf8.endIndex
            let segment = text.utf8[start..<end]
            guard !segment.isEmpty else {
                return start == text.utf8.startIndex ? "is absolute" : "has an empty part"
            }
            guard segment.count <= longestPart else { return "has a part of more than \(longestPart) bytes" }
            if segment.first == UInt8(ascii: ".") {
                guard !segment.elementsEqual(".".utf8), !segment.elementsEqual("..".utf8) else {
                    return "has a part . or .."
                }
                guard folders > 0 || !isReserved(text[start..<end]) else {
                    return "lies in \(reserved), which Haul keeps for itself"
                }
            }
            guard end != text.utf8.endIndex else { break }
            folders += 1
            start = text.utf8.index(after: end)
        }
        return folders <= mostFolders ? nil : "has more than \(mostFolders) folders"
    }

    /// Whether `segment` is the reserved name, or differs from it only in letter case or in dots and spaces at the end.
    /// Some file systems treat such names as equal.
    private static func isReserved(_ segment: Substring) -> Bool {
        let end = segment.lastIndex { $0 != "." && $0 != " " }
        return end.map { segment[...$0].lowercased() == reserved } ?? false
    }

    /// Quotes an untrusted text for a message: at most 200 characters, with control characters replaced by `?`.
    static func quoted(_ text: String) -> String {
        let shown = text.unicodeScalars.prefix(200).map { $0.properties.generalCategory == .control ? "?" : String($0) }
        return "\"\(shown.joined())\(text.unicodeScalars.count > 200 ? "…" : "")\""
    }
}
