import CHaulSystem
import Dispatch
import Foundation
import HaulKit

@main
enum EntryPoint {
    /// Not async: the concurrency runtime would take descriptors before the first line of an async one, and traps without them.
    static func main() {
        if DescriptorLimit.free < least { _ = haul_raise_descriptor_limit(raised) }
        let free = DescriptorLimit.free
        guard free >= least else {
            let count = max(0, free)
            let text =
                "haul: This process may open only \(count) more files, too few to begin. Raise the limit (ulimit -n).\n"
            FileHandle.standardError.write(Data(text.utf8))
            exit(ExitStatus.disk.rawValue)
        }
        Task { await Haul.main() }
        dispatchMain()
    }

    /// What the runtime takes for itself: an epoll, a timer and two event descriptors, of which not all are open at once.
    private static let least = 3
    /// Enough to say what a download needs.
    private static let raised: Int64 = 64
}
