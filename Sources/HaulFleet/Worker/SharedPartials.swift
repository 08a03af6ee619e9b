internal import Foundation
internal import HaulKit

/// Gives access to partial files in the staging folders of all workers that share a destination.
///
/// A worker records beside each large partial file which ranges are on disk. The item's next worker copies these ranges
/// and continues from there. It works on a copy, because the first worker may be suspended and may write to its file
/// again later. Only items with a digest in the list are continued, because only the digest proves that all bytes are
/// of one version.
struct SharedPartials: Sendable {
    /// Staging folder of this worker. The folders of the others are beside it.
    let stagingFolder: String

    /// Minimum size in bytes; smaller partial files are downloaded again.
    static let leastBytes: Int64 = 8 << 20
    private static let mostRanges = 100_000

    /// The ranges of a partial file that are on disk.
    struct Ranges: Codable, Equatable, Sendable {
        var total: Int64
        /// Start and end of each range, in order.
        var ranges: [[Int64]]

        /// Maximum length of a file, so that the sum of two lengths fits `Int64`. The reader of control files has the
        /// same limit.
        private static let longest: Int64 = 1 << 60

        /// Whether the ranges are in order and within the file. Another worker wrote them, and a crash may have damaged
        /// them.
        var isValid: Bool {
            guard total <= Self.longest else { return false }
            var end: Int64 = -1
            for range in ranges {
                guard range.count == 2, range[0] > end, range[1] > range[0], range[1] <= total else { return false }
                end = range[1]
            }
            return ranges.count <= mostRanges
        }

        /// Number of bytes on disk. Needs valid ranges.
        var bytes: Int64 { ranges.reduce(0) { $0 + $1[1] - $1[0] } }
    }

    private func partial(_ item: Int64, _ folder: String) -> String { FilePaths.part(of: "\(folder)/\(item)") }
    private func rangesFile(_ item: Int64, _ folder: String) -> String { "\(folder)/\(item).ranges" }

    // MARK: What this worker has

    /// Syncs a partial file and then records its ranges.
    func keep(_ item: Int64, _ ranges: [Range<Int64>], total: Int64) throws(FleetError) {
        let known = Ranges(total: total, ranges: ranges.map { [$0.lowerBound, $0.upperBound] })
        let descriptor = open(partial(item, stagingFolder), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        // Does nothing if the download was completed or dropped after its ranges were read.
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        guard fdatasync(descriptor) == 0 else { throw Self.error("sync", partial(item, stagingFolder)) }
        let path = rangesFile(item, stagingFolder)
        do { try JSONEncoder().encode(known).write(to: URL(fileURLWithPath: path), options: .atomic) } catch {
            throw FleetError(.disk, "\(path) cannot be written: \(FileReason.text(error)).")
        }
    }

    func forget(_ item: Int64) { unlink(rangesFile(item, stagingFolder)) }

    // MARK: What others have

    /// Copies the largest partial file that another worker left for an item. The downloader adopts the copy as an
    /// unfinished file.
    ///
    /// - Returns: whether a partial file was copied.
    func take(_ item: Int64) throws(FleetError) -> Bool {
        guard let (folder, ranges) = best(item) else { return false }
        let source = open(partial(item, folder), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard source >= 0 else { return false }
        defer { close(source) }
        let path = "\(stagingFolder)/\(item)"
        let target = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        // The name is taken, so this worker already has a file of the item.
        guard target >= 0 else { return false }
        defer { close(target) }
        do throws(FleetError) {
            for range in ranges.ranges { try Self.copy(source, target, range[0]..<range[1], path) }
            let control = Data(Self.controlFile(ranges))
            do { try control.write(to: URL(fileURLWithPath: path + ".aria2"), options: .atomic) } catch {
                throw FleetError(.disk, "\(path).aria2 cannot be written: \(FileReason.text(error)).")
            }
        } catch {
            unlink(path)
            throw error
        }
        return true
    }

    /// Removes the partial files of other workers for a finished item.
    func removeOfOthers(_ item: Int64) {
        for folder in others() where access(rangesFile(item, folder), F_OK) == 0 {
            unlink(partial(item, folder))
            unlink(rangesFile(item, folder))
        }
    }

    private func others() -> [String] {
        let parent = (stagingFolder as NSString).deletingLastPathComponent
        let own = (stagingFolder as NSString).lastPathComponent
        // An unreadable parent folder counts as empty.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? []
        return names.filter { $0 != own }.map { parent + "/" + $0 }
    }

    private func best(_ item: Int64) -> (folder: String, ranges: Ranges)? {
        others().compactMap { folder -> (String, Ranges)? in
            guard let data = FileManager.default.contents(atPath: rangesFile(item, folder)),
                // Unreadable ranges count as missing.
                let ranges = try? JSONDecoder().decode(Ranges.self, from: data), ranges.isValid,
                ranges.bytes >= Self.leastBytes
            else { return nil }
            return (folder, ranges)
        }.max { $0.1.bytes < $1.1.bytes }
    }

    // MARK: Bytes

    private static func copy(_ source: Int32, _ target: Int32, _ range: Range<Int64>, _ path: String) throws(FleetError)
    {
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        var position = range.lowerBound
        while position < range.upperBound {
            let wanted = Int(min(Int64(buffer.count), range.upperBound - position))
            let count = pread(source, &buffer, wanted, off_t(position))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw error("read the partial file for", path) }
            var written = 0
            while written < count {
                let part = buffer[written..<count].withUnsafeBytes {
                    pwrite(target, $0.baseAddress, $0.count, off_t(position) + off_t(written))
                }
                if part < 0, errno == EINTR { continue }
                guard part > 0 else { throw error("write", path) }
                written += part
            }
            position += Int64(count)
        }
    }

    private static func error(_ what: String, _ path: String) -> FleetError {
        FleetError(.disk, "It was not possible to \(what) \(path): \(String(cString: strerror(errno))).")
    }

    /// Encodes the ranges as an aria2 control file: version, no info hash, piece length, lengths, and one bit per
    /// piece, which is set if the piece is complete. Needs valid ranges.
    static func controlFile(_ ranges: Ranges) -> [UInt8] {
        var piece: Int64 = 64 << 10
        while ranges.total / piece > 1 << 20 { piece *= 2 }
        let count = Int((ranges.total + piece - 1) / piece)
        var bits = [UInt8](repeating: 0, count: (count + 7) / 8)
        for range in ranges.ranges {
            let first = (range[0] + piece - 1) / piece
            let end = range[1] == ranges.total ? Int64(count) : range[1] / piece
            for index in stride(from: Int(first), to: Int(end), by: 1) { bits[index / 8] |= 0x80 >> UInt8(index % 8) }
        }
        var bytes: [UInt8] = [0, 1] + [0, 0, 0, 0] + [0, 0, 0, 0]
        func append(_ value: some FixedWidthInteger) {
            withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
        }
        append(UInt32(truncatingIfNeeded: piece))
        append(UInt64(bitPattern: ranges.total))
        append(UInt64(0))
        append(UInt32(truncatingIfNeeded: bits.count))
        return bytes + bits + [0, 0, 0, 0]
    }
}
