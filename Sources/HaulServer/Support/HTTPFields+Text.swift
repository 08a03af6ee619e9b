internal import HTTPTypes

/// Fields that the HTTP library has no name for.
extension HTTPFields {
    /// The field's value; nil where it is missing.
    func text(_ name: String) -> String? { HTTPField.Name(name).flatMap { self[$0] } }

    /// The values of all fields of a name.
    func texts(_ name: String) -> [String] { HTTPField.Name(name).map { self[values: $0] } ?? [] }

    /// Sets a field. A name that HTTP does not allow is ignored.
    mutating func set(_ name: String, _ value: String) {
        if let name = HTTPField.Name(name) { self[name] = value }
    }
}
