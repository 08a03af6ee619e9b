import Synchronization

/// Records the keys that a type decodes, without decoding values. With synthesised decoding, these are the names of its
/// stored properties.
final class KeyRecorder: Decoder, Sendable {
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }
    private let keys = Mutex<Set<String>>([])

    static func keys(of type: any Decodable.Type) throws -> Set<String> {
        let recorder = KeyRecorder()
        _ = try type.init(from: recorder)
        return recorder.keys.withLock { $0 }
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(Container<Key>(recorder: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw Nothing() }
    func singleValueContainer() throws -> any SingleValueDecodingContainer { throw Nothing() }

    struct Nothing: Error {}

    private struct Container<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let recorder: KeyRecorder
        var codingPath: [any CodingKey] { [] }
        var allKeys: [Key] { [] }

        func contains(_ key: Key) -> Bool {
            recorder.keys.withLock { _ = $0.insert(key.stringValue) }
            return false
        }

        func decodeNil(forKey key: Key) throws -> Bool { throw Nothing() }
        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value { throw Nothing() }
        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type,
            forKey key: Key
        ) throws -> KeyedDecodingContainer<Nested> { throw Nothing() }
        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer { throw Nothing() }
        func superDecoder() throws -> any Decoder { throw Nothing() }
        func superDecoder(forKey key: Key) throws -> any Decoder { throw Nothing() }
    }
}
