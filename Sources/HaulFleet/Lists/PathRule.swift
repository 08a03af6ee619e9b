/// Decides which paths of a list can be names at a destination.
package struct PathRule: Sendable {
    private enum Kind { case folder, bucket(prefixLength: Int), unknown }

    private let kind: Kind

    /// Every path can be a name.
    package static let any = PathRule(destination: nil)

    /// - Parameter destination: the destination of the queue in the form that ``DestinationText`` writes; `nil` if it has
    ///   none yet. Every path is possible then.
    package init(destination: String?) {
        guard let destination else {
            kind = .unknown
            return
        }
        guard destination.hasPrefix("s3://") else {
            kind = .folder
            return
        }
        let parts = destination.prefix { $0 != "?" }.dropFirst("s3://".count).split(separator: "/", maxSplits: 1)
        kind = .bucket(prefixLength: parts.count > 1 ? parts[1].utf8.count + 1 : 0)
    }

    /// Returns why a path can be no name, as the rest of a sentence that begins with the path; `nil` if it can be one.
    func fault(in path: String) -> String? {
        switch kind {
        case .folder: return RelativePath.fault(in: path)
        case .bucket(let prefixLength):
            let isTooLong = path.utf8.count + prefixLength > S3Object.longestKey
            return isTooLong ? "makes a key of more than \(S3Object.longestKey) bytes" : nil
        case .unknown: return nil
        }
    }
}
