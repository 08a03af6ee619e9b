/// Divides an object into parts of equal size. The last part may be smaller.
struct PartPlan: Sendable, Hashable {
    /// S3's limit for one part and for an object sent in one request.
    static let largestPart: Int64 = 5 << 30
    private static let mebibyte: Int64 = 1 << 20

    let bytes: Int64
    let partSize: Int64

    /// - Parameter least: the part size. If the object would have too many parts, the size grows to a whole number of
    ///   MiB.
    /// - Throws: ``FleetError/Code/destinationRefused`` for an object that is larger than S3 stores.
    init(bytes: Int64, least: Int64) throws(FleetError) {
        let most = Int64(S3Client.mostParts)
        let needed = bytes / most + (bytes % most == 0 ? 0 : 1)
        let rounded = (needed + Self.mebibyte - 1) / Self.mebibyte * Self.mebibyte
        partSize = needed <= least ? max(1, least) : rounded
        self.bytes = bytes
        guard bytes >= 0, partSize <= Self.largestPart else {
            throw FleetError(.destinationRefused, "An object of \(bytes) bytes is larger than S3 stores.")
        }
    }

    /// Whether one request sends the whole object.
    var isSingle: Bool { bytes <= partSize }

    /// Numbers of the parts, from 1.
    var numbers: ClosedRange<Int> { 1...max(1, Int((bytes + partSize - 1) / partSize)) }

    func range(_ number: Int) -> Range<Int64> {
        let start = Int64(number - 1) * partSize
        return start..<min(bytes, start + partSize)
    }
}
