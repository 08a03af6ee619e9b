#if HAUL_TOOL
    import Synchronization

    /// Sums of the counts of all chunks.
    final class Totals: Sendable {
        private static let names = [
            "histories", "failures", "steps", "items completed", "items failed", "files published", "published late",
            "conflicts", "reports fenced", "workers lost", "items cancelled",
        ]

        private let state = Mutex<(next: UInt64, counts: [Int])>((0, []))

        static func sum(_ one: [Int], _ other: [Int]) -> [Int] {
            (0..<max(one.count, other.count)).map { index in
                (one.indices.contains(index) ? one[index] : 0) + (other.indices.contains(index) ? other[index] : 0)
            }
        }

        func begin(of all: UInt64, chunk: UInt64, mostFailures: Int) -> Range<UInt64>? {
            state.withLock { state in
                let failures = state.counts.count > 1 ? state.counts[1] : 0
                guard state.next < all, failures < mostFailures else { return nil }
                defer { state.next += chunk }
                return state.next..<min(all, state.next + chunk)
            }
        }

        func add(_ counts: [Int]) { state.withLock { $0.counts = Self.sum($0.counts, counts) } }

        var failures: Int { state.withLock { $0.counts.count > 1 ? $0.counts[1] : 0 } }
        func isRound(every count: Int) -> Bool {
            state.withLock { state in (state.counts.first ?? 0).isMultiple(of: count) }
        }

        var line: String {
            let counts = state.withLock { $0.counts }
            return zip(Self.names, counts).map { "\($1) \($0)" }.joined(separator: ", ")
        }
    }
#endif
