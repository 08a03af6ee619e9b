package import Foundation

extension Date {
    /// Whole milliseconds since 1970, rounded down: the precision of the store. A microsecond is added first, because a
    /// date that was read back may lie slightly below its millisecond.
    package var milliseconds: Double { (timeIntervalSince1970 * 1000 + 0.001).rounded(.down) }
}
