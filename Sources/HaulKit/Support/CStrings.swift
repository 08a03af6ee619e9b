internal import Foundation

/// Converts lists of texts to C strings.
package enum CStrings {
    /// Calls `body` with pointers to the texts and a final null pointer. The pointers are valid until `body` returns.
    package static func withPointers<Value>(
        _ texts: [String],
        _ body: ([UnsafeMutablePointer<CChar>?]) -> Value
    ) -> Value {
        let pointers = texts.map { strdup($0) }
        defer { for pointer in pointers { free(pointer) } }
        return body(pointers + [nil])
    }
}
