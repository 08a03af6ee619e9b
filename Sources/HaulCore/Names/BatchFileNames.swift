/// The names of the files of one list, made distinct before the first request is sent.
///
/// If several URLs lead to one name in one folder, the first keeps the name. The others are numbered in the order of
/// the list, as `name (1).ext`, so that the names do not depend on which response arrives first. A name that only the
/// response has (`Content-Disposition`, a redirect) is not known here. Such a name gets the next number if it is taken
/// when the response arrives.
package struct BatchFileNames: Sendable {
    /// A name that more than one URL of the list leads to.
    package struct Shared: Sendable, Hashable {
        /// The path that the first of these files keeps.
        package let path: String
        /// Number of URLs that lead to this path.
        package let count: Int
    }

    /// The requests in the order of the list. A numbered name is the ``DownloadRequest/suggestedName`` of its request.
    package private(set) var requests: [DownloadRequest]
    /// The names that several URLs of the list lead to, in the order of the list. Leaves out a name if all later
    /// requests for it were refused.
    package private(set) var shared: [Shared] = []
    /// Errors (``DownloadError/Code/inUse``) by the index of the request. A request for a named file is refused if an
    /// earlier request leads to the same path, unless both have the same URL and destination.
    package private(set) var refused: [Int: DownloadError] = [:]

    /// Computes the names of a list, for ``Downloader/add(_:)-([DownloadRequest])`` and for callers that show the names
    /// before they add the requests.
    package init(_ requests: [DownloadRequest]) {
        self.requests = requests
        guard requests.count > 1 else { return }
        /// Index of the first request that leads to each path; `others` has the later ones.
        var first: [String: Int] = [:]
        var others: [(position: Int, path: String)] = []
        for (position, request) in requests.enumerated() {
            guard let path = Self.path(request) else { continue }
            guard let earlier = first[path] else {
                first[path] = position
                continue
            }
            if requests[earlier].url == request.url, requests[earlier].destination == request.destination { continue }
            others.append((position, path))
        }
        number(others, first)
    }

    private mutating func number(_ others: [(position: Int, path: String)], _ first: [String: Int]) {
        var taken = Set(others.isEmpty ? [] : Array(first.keys))
        var numbers: [String: Int] = [:]
        /// Names given so far. Equal requests are one download, so they get the same name.
        var given: [DownloadRequest: String] = [:]
        var counts: [String: Int] = [:]
        var order: [String] = []
        for (position, path) in others {
            guard case .folder(let folder) = requests[position].destination else {
                refused[position] = DownloadError(
                    .inUse,
                    "The list names \(path) twice. Give one of them another name."
                )
                continue
            }
            if let name = given[requests[position]] {
                requests[position].isNameNumbered = requests[position].suggestedName == nil
                requests[position].suggestedName = name
                continue
            }
            if counts[path] == nil { order.append(path) }
            counts[path, default: 1] += 1
            var name: String
            repeat {
                numbers[path, default: 0] += 1
                name = FileName.candidate(FilePaths.name(of: path), numbers[path, default: 0])
            } while !taken.insert(FilePaths.join(folder, name)).inserted
            given[requests[position]] = name
            requests[position].isNameNumbered = requests[position].suggestedName == nil
            requests[position].suggestedName = name
        }
        shared = order.map { Shared(path: $0, count: counts[$0] ?? 0) }
    }

    /// Returns the path that the request determines; `nil` if only the response has the name.
    private static func path(_ request: DownloadRequest) -> String? {
        switch request.destination {
        case .file(let path): path
        case .folder(let folder):
            // Compares safe names, because names may differ only in characters that a safe name does not have.
            (request.suggestedName.flatMap(FileName.safeTitle)
                ?? (request.needsSource ? nil : FileName.from(url: request.url)))
                .map { FilePaths.join(folder, $0) }
        }
    }
}
