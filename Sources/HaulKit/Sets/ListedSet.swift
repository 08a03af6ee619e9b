/// A set that its source has listed, with the paths of its files below the folder.
struct ListedSet: Sendable {
    /// The whole set, with safe paths as the names of its files. Of its refused names, only the selected ones are
    /// included.
    let set: FileSet
    /// The selected files, also with safe paths as their names.
    let wanted: [FileSet.File]

    /// Asks a source for its list.
    ///
    /// - Throws: ``DownloadError``: the errors of the source; ``DownloadError/Code/invalidSet`` for a set without
    ///   files, and for patterns that cannot be used or select nothing.
    init(_ source: any SetSource, _ options: SetOptions, _ downloader: Downloader) async throws(DownloadError) {
        let select = try Self.patterns(options.select)
        let except = try Self.patterns(options.except)
        let documents = SetDocuments(
            downloader: downloader,
            headers: options.headers,
            home: source.location,
            allowsInsecureRedirects: options.allowsInsecureRedirects,
            except: except
        )
        var set = try await source.list(documents)
        guard !set.files.isEmpty || !set.refused.isEmpty else {
            throw DownloadError(.invalidSet, "\(set.origin) has no files.")
        }
        let all = try set.placed()
        let wanted = select.isEmpty && except.isEmpty ? all : try set.placed(select: select, except: except)
        guard !wanted.files.isEmpty || !wanted.refused.isEmpty else {
            throw DownloadError(.invalidSet, "No file of \(set.origin) has a name that was selected.")
        }
        set.files = all.files.map(\.atItsPath)
        set.refused = wanted.refused + (set.damage.map { [$0] } ?? [])
        // Refused names belong to the set even if they were not selected. As unread names, they keep files of earlier
        // syncs from being removed.
        set.unread.formUnion(all.refused.map { FileName.safePath($0.name, keepsLeadingDots: true) ?? $0.name })
        (self.set, self.wanted) = (set, wanted.files.map(\.atItsPath))
    }

    private static func patterns(_ texts: [String]) throws(DownloadError) -> [PathPattern] {
        var patterns: [PathPattern] = []
        for text in texts {
            do throws(PathPattern.Unusable) { patterns.append(try PathPattern(text)) } catch {
                throw DownloadError(.invalidSet, error.sentence)
            }
        }
        return patterns
    }
}

extension PlacedSet.File {
    /// The file with its path below the folder as its name.
    fileprivate var atItsPath: FileSet.File {
        var file = file
        file.name = path
        return file
    }
}
