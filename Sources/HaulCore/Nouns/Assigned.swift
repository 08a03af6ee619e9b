internal import Synchronization

/// Wraps a value that cannot be compared, such as a closure. Two wrappers are equal if one is a copy of the other.
package struct Assigned<Value: Sendable>: Sendable, Hashable {
    package let value: Value
    private let number: UInt64

    /// Wraps a default value. All wrappers of a default are equal.
    package init(initial: Value) { (value, number) = (initial, 0) }

    package init(_ value: Value) {
        self.value = value
        number = assignments.wrappingAdd(1, ordering: .relaxed).newValue
    }

    package static func == (one: Self, other: Self) -> Bool { one.number == other.number }
    package func hash(into hasher: inout Hasher) { hasher.combine(number) }
}

private let assignments = Atomic<UInt64>(0)
