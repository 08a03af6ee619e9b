/// The bytes that must precede segments (`EXT-X-MAP`). Two are equal if URL, range and key are equal.
package struct InitializationSection: Sendable, Hashable {
    package let url: HTTPURL
    /// `nil` for the whole resource.
    package let range: ByteRange?
    /// With a stated vector, because an initialization section has no number.
    package let key: SegmentKey?
}
