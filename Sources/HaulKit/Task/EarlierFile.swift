/// File at the final name that this run did not write.
enum EarlierFile {
    case none
    /// This download completed the file in an earlier run or in another process. Also stands for the file of another
    /// process whose record lacks the status.
    case completed
    /// The file was left alone as requested, or another process completed it.
    case leftAlone(FileStatus)

    var exists: Bool {
        if case .none = self { false } else { true }
    }

    /// Status of a file that was left alone; `nil` in the other cases.
    var status: FileStatus? {
        if case .leftAlone(let status) = self { status } else { nil }
    }
}
