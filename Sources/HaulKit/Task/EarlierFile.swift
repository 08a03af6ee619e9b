/// File at the final name that this run did not write.
enum EarlierFile {
    case none
    /// This download completed the file in an earlier run.
    case completed
    /// The file was left alone as requested, or another process completed it.
    case leftAlone(FileStatus)

    var exists: Bool {
        if case .none = self { false } else { true }
    }

    /// Status of the existing file; `nil` if there is none, or if this download completed it.
    var status: FileStatus? {
        if case .leftAlone(let status) = self { status } else { nil }
    }
}
