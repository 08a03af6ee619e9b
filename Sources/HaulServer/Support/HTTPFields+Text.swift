internal import HTTPTypes

/// Access to fields by their names as text.
extension HTTPFields {
    /// Returns the value of a field; `nil` if the field is missing.
    package func text(_ name: String) -> String? { HTTPField.Name(name).flatMap { self[$0] } }

    /// Returns the values of all fields with a name.
    package func texts(_ name: String) -> [String] { HTTPField.Name(name).map { self[values: $0] } ?? [] }

    /// Sets a field. Ignores a name that HTTP does not allow.
    package mutating func set(_ name: String, _ value: String) {
        if let name = HTTPField.Name(name) { self[name] = value }
    }
}
