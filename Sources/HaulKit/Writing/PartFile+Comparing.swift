internal import Foundation

extension PartFile {
    /// Returns the blocks of a plan. Reads candidate blocks on the disk, because the plan prefers blocks with more than
    /// one byte value.
    func blocks(of plan: ComparisonPlan) async throws(DiskError) -> [Range<Int64>] {
        try await onWriteThread { () throws(DiskError) in
            try plan.blocks { (block) throws(DiskError) in
                try self.file.read(at: block.lowerBound, count: block.count).isVaried
            }
        }
    }
}
