internal import Foundation

extension PartFile {
    /// The blocks of a plan, chosen by what the disk holds.
    func blocks(of plan: ComparisonPlan) async throws(DiskError) -> [Range<Int64>] {
        try await onWriteThread { () throws(DiskError) in
            try plan.blocks { (block) throws(DiskError) in
                try self.file.read(at: block.lowerBound, count: block.count).isVaried
            }
        }
    }
}

extension [UInt8] {
    /// Whether this is more than one repeated byte.
    var isVaried: Bool {
        withUnsafeBytes { bytes in
            guard bytes.count > 1, let start = bytes.baseAddress else { return false }
            return memcmp(start, start + 1, bytes.count - 1) != 0
        }
    }
}
