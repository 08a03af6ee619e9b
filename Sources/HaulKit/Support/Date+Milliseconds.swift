package import Foundation

extension Date {
    /// Whole milliseconds since 1970, rounded down: the precision of the store. A date that was read back may be a little less than its
    /// millisecond, hence the tolerance of a microsecond.
    package var milliseconds: Double { (timeIntervalSince1970 * 1000 + 0.001).rounded(.down) }
}
