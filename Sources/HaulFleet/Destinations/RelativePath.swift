/// A path from a list that stays below its root folder, whatever the list contains.
///
/// This type does not check symbolic links; ``FolderTree`` follows none.
struct RelativePath: Sendable, Hashable {
    /// Name of the folder at the root in which workers keep incomplete files.
    static let reserved = ".haul-fleet"
    /// Maximum number of folders above a file. Each needs a descriptor while a batch is published.
    static let mostFolders = 64

    /// Folders above the file, separated by slashes; empty for a file directly below the root.
    let parent: String
    let name: String

    /// Checks a path.
    ///
    /// - Throws: ``FleetError/Code/invalidInput`` with a sentence that names the path.
    init(_ text: String) throws(FleetError) {
        var (start, folders, lastSlash) = (text.utf8.startIndex, 0, text.utf8.startIndex)
        func refuse(_ reason: String) -> FleetError {
            FleetError(.invalidInput, "The path \(Self.quoted(text)) \(reason).")
        }
        guard !text.utf8.isEmpty else { throw FleetError(.invalidInput, "A path is empty.") }
        guard !text.utf8.contains(0) else { throw refuse("holds a NUL character") }
        while true {
            let end = text.utf8[start...].firstIndex(of: UInt8(ascii: "/")) ?? text.utf8.endIndex
            let segment = text.utf8[start..<end]
            guard !segment.isEmpty else {
                throw refuse(start == text.utf8.startIndex ? "is absolute" : "has an empty part")
            }
            if segment.first == UInt8(ascii: ".") {
                guard !segment.elementsEqual(".".utf8), !segment.elementsEqual("..".utf8) else {
                    throw refuse("has a part . or ..")
                }
                guard folders > 0 || !Self.isReserved(text[start..<end]) else {
                    throw refuse("lies in \(Self.reserved), which Haul keeps for itself")
                }
            }
            guard end != text.utf8.endIndex else { break }
            folders += 1
            (lastSlash, start) = (end, text.utf8.index(after: end))
        }
        guard folders <= Self.mostFolders else { throw refuse("has more than \(Self.mostFolders) folders") }
        parent = String(text[..<lastSlash])
        name = String(text[start...])
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
