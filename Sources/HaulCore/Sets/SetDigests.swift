/// The digests that the lists of a set give to its files. A release or a folder may have several lists, and a list may
/// be in a folder above the files that it names.
package struct SetDigests: Sendable {
    private struct Listed {
        var checksums: [DownloadRequest.Checksum] = []
        /// The reason why a list, or the publisher beside the lists, gives the name no usable digest; `nil` if there is
        /// no such reason.
        var refusal: String?
    }

    private var listed: [String: Listed] = [:]

    package init() {}

    /// Notes that the publisher states no digest that proves the file. A list may still have one.
    ///
    /// - Parameter reason: a sentence.
    package mutating func refuse(_ name: String, _ reason: String) { listed[name, default: Listed()].refusal = reason }

    /// Adds the lines of a list.
    ///
    /// - Parameters:
    ///   - name: the name of the list in the set.
    ///   - onlyLastParts: whether folders in the names of the list are ignored, because the set has no folders.
    /// - Throws: ``DownloadError/Code/invalidSet`` if the lists have more than ``FileSet/maximumNames`` names.
    package mutating func add(_ list: ChecksumList, named name: String, onlyLastParts: Bool = false)
        throws(DownloadError)
    {
        let folder = name.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(name[...$0]) } ?? ""
        func place(_ line: String) -> String { folder + (onlyLastParts ? FilePaths.name(of: line) : line) }
        for line in list.lines where place(line.name) != name {
            let place = place(line.name)
            if listed[place]?.checksums.contains(line.checksum) != true {
                listed[place, default: Listed()].checksums.append(line.checksum)
            }
        }
        for refused in list.refused { listed[place(refused.name), default: Listed()].refusal = refused.reason }
        // Bounds the memory, because a folder may have a million lists, each with a million names.
        guard listed.count <= FileSet.maximumNames else {
            throw .invalidSet("its lists of digests have more than \(FileSet.maximumNames) names")
        }
    }

    /// Gives each file the strongest of its own digest and the digests of the lists. Refuses a file if two digests of
    /// one algorithm differ, or if it has a refusal and no digest. Adds a remark for names that only the lists have.
    package func apply(to set: inout FileSet) {
        guard !listed.isEmpty else { return }
        var files: [FileSet.File] = []
        for var file in set.files {
            let listed = listed[file.name] ?? Listed()
            let all = (file.checksum.map { [$0] } ?? []) + listed.checksums
            if let twice = all.first(where: { one in all.contains { $0.algorithm == one.algorithm && $0 != one } }) {
                let reason = "The publisher names two \(twice.algorithm.rawValue) digests for it."
                set.refused.append(RefusedName(file.name, reason))
                continue
            }
            file.checksum = all.max { $0.algorithm.digestLength < $1.algorithm.digestLength }
            if file.checksum == nil, let refusal = listed.refusal {
                set.refused.append(RefusedName(file.name, refusal))
                continue
            }
            files.append(file)
        }
        let names = Set(set.files.map(\.name))
        set.files = files
        let others = listed.keys.filter { !names.contains($0) }.sorted()
        guard let first = others.first else { return }
        let rest = others.count == 1 ? "" : " and \(others.count - 1) more"
        set.remarks.append(
            VisibleText.line("Lists of digests name \u{201C}\(first)\u{201D}\(rest), which the set does not have.")
        )
    }
}
