internal import Foundation

/// Lists of texts as C has them.
package enum CStrings {
    /// Calls `body` with pointers to the texts, ended by a null pointer. They are valid until it returns.
    package static func withPointers<Value>(
        _ texts: [String],
        _ body: ([UnsafeMutablePointer<CChar>?]) -> Value
    ) -> Value {
        let pointers = texts.map { strdup($0) }
        defer { for pointer in pointers { free(pointer) } }
        return body(pointers + [nil])
    }
}
