package import HaulKit

/// A file of a commit on a ``HubServer``, with the digests that the hub publishes for it.
package struct HubFile: Sendable {
    /// The path below the root of the repository, as it stands in the tree. The hub checks no path.
    package let path: String
    /// The bytes whose digest and length the tree names.
    package let content: TestContent
    /// The bytes that are sent: ``content``, unless they were replaced.
    package private(set) var served: TestContent
    /// SHA-256 of ``content`` in lower-case hexadecimal; `nil` for a small file.
    package let sha256: String?
    /// Git's SHA-1 of the blob in lower-case hexadecimal. The blob is ``content``, or for a large file its pointer.
    package let oid: String
    /// Length in bytes of the pointer that git has in place of a large file; `nil` for a small file.
    package let pointerLength: Int?

    /// Makes a file whose content takes no memory if it is generated. Reads the content once, for its digests.
    ///
    /// - Parameter isLarge: whether the hub keeps the bytes in its storage (LFS) and redirects to a signed link.
    package init(_ path: String, _ content: TestContent, isLarge: Bool = false) {
        self.path = path
        self.content = content
        served = content
        let digest = isLarge ? content.digest(.sha256).hexadecimal : nil
        let pointer = digest.map {
            TestContent("version https://git-lfs.github.com/spec/v1\noid sha256:\($0)\nsize \(content.count)\n".utf8)
        }
        let blob = pointer ?? content
        sha256 = digest
        oid = blob.digest(.sha1, after: "blob \(blob.count)\0").hexadecimal
        pointerLength = pointer.map { Int($0.count) }
    }

    /// Makes a file of these bytes.
    package init(_ path: String, _ bytes: some Sequence<UInt8>, isLarge: Bool = false) {
        self.init(path, TestContent(bytes), isLarge: isLarge)
    }

    /// Whether the hub redirects to a signed link for the bytes.
    package var isLarge: Bool { sha256 != nil }

    /// Returns a copy of the file that serves other bytes of the same length. An empty file stays as it is.
    package func corrupt() -> HubFile {
        guard content.seed == 0 else { return serving(TestContent(seed: content.seed &+ 1, count: content.count)) }
        var bytes = content.bytes(0..<content.count)
        if let last = bytes.popLast() { bytes.append(~last) }
        return serving(TestContent(bytes))
    }

    /// Returns a copy of the file that serves other bytes of any length. The tree still names the digest and the length
    /// of ``content``.
    package func serving(_ content: TestContent) -> HubFile {
        var file = self
        file.served = content
        return file
    }
}

extension TestContent {
    private static let digestBlock: Int64 = 1 << 20

    /// Returns the digest of a text followed by the content.
    package func digest(_ algorithm: DownloadRequest.Checksum.Algorithm, after text: String = "") -> [UInt8] {
        var hasher = DigestHasher(algorithm, size: count)
        Array(text.utf8).withUnsafeBytes { hasher.update($0) }
        var offset: Int64 = 0
        while offset < count {
            let end = min(count, offset + Self.digestBlock)
            bytes(offset..<end).withUnsafeBytes { hasher.update($0) }
            offset = end
        }
        return hasher.finish()
    }
}
