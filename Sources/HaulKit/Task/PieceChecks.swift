internal import DequeModule

/// Comparisons of the bytes on the disk with digests: of complete pieces, one after another, and of the whole file.
struct PieceChecks {
    private var unchecked: Deque<Int> = []
    private var isChecking = false
    /// Cancels the comparison of the whole file.
    private var comparison: CancelFlag?

    mutating func append(_ piece: Int) { unchecked.append(piece) }

    /// Forgets the pieces, because the file is closed or starts over.
    mutating func removeAll() { unchecked.removeAll() }

    /// - Returns: whether the caller has to compare the pieces. `false` while another call does, or if there are none.
    mutating func begin() -> Bool {
        guard !isChecking, !unchecked.isEmpty else { return false }
        isChecking = true
        return true
    }

    /// Returns the next piece to compare.
    mutating func next() -> Int? { unchecked.popFirst() }

    mutating func end() { isChecking = false }

    /// Returns the flag that cancels the comparison of the whole file.
    mutating func beginComparison() -> CancelFlag {
        let flag = CancelFlag()
        comparison = flag
        return flag
    }

    func cancelComparison() { comparison?.set() }
}
