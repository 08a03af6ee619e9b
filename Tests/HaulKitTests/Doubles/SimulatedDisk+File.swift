import NIOCore
import Synchronization

@testable import HaulCore
@testable import HaulKit

extension SimulatedDisk {
    final class File: DiskFile {
        let path: String
        private let disk: SimulatedDisk
        private let number: UInt64
        private let holdsLock = Mutex(false)

        init(_ disk: SimulatedDisk, _ number: UInt64, _ path: String) {
            self.disk = disk
            self.number = number
            self.path = path
        }

        deinit { unlock() }

        func unlock() {
            let held = holdsLock.withLock { held in
                defer { held = false }
                return held
            }
            if held { disk.state.withLock { $0.inodes[number]?.isLocked = false } }
        }

        func write(_ buffers: [ByteBuffer], at offset: Int64) throws(DiskError) {
            var bytes = buffers.first.map { [UInt8]($0) } ?? []
            for buffer in buffers.dropFirst() { bytes += [UInt8](buffer) }
            try disk.change("write", path) { state throws(DiskError) in
                let growth = offset + Int64(bytes.count) - Int64(state.inodes[number]?.content.count ?? 0)
                if let capacity = state.capacity, growth > 0, SimulatedDisk.used(state) + growth > capacity {
                    throw DiskError(.full, call: "pwritev", path: path)
                }
                let write = Write(offset: Int(offset), bytes: bytes)
                state.inodes[number, default: Inode()].unsynced.append(write)
                SimulatedDisk.apply(write, &state.inodes[number, default: Inode()].content)
                state.inodes[number]?.modified += 1
            }
        }

        func read(at offset: Int64, count: Int) throws(DiskError) -> [UInt8] {
            try disk.look(path) { state throws(DiskError) in
                let content = state.inodes[number]?.content ?? []
                let start = min(Int(offset), content.count)
                return Array(content[start..<min(start + count, content.count)])
            }
        }

        func sync() throws(DiskError) {
            try disk.change("sync", path) { state throws(DiskError) in
                guard var inode = state.inodes[number] else { return }
                inode.durable = inode.content
                inode.unsynced = []
                state.inodes[number] = inode
            }
        }

        func preallocate(_ length: Int64) throws(DiskError) {
            try disk.change("preallocate", path) { state throws(DiskError) in }
        }

        func truncate(_ length: Int64) throws(DiskError) {
            try disk.change("truncate", path) { state throws(DiskError) in
                guard var inode = state.inodes[number] else { return }
                inode.content = Array(inode.content.prefix(Int(length)))
                // Assumes the worst case of a journal: the new length is durable at once, and the old bytes are gone.
                inode.durable = Array(inode.durable.prefix(Int(length)))
                inode.unsynced = []
                state.inodes[number] = inode
            }
        }

        func setModificationTime(_ nanoseconds: Int64) throws(DiskError) {
            try disk.change("utimens", path) { state throws(DiskError) in
                state.inodes[number]?.modified = nanoseconds
            }
        }

        func status() throws(DiskError) -> FileStatus {
            try disk.look(path) { state throws(DiskError) in
                guard let status = SimulatedDisk.status(number, state) else {
                    throw DiskError(.notFound, call: "fstat", path: path)
                }
                return status
            }
        }

        func lock() throws(DiskError) -> Bool {
            disk.state.withLock { $0.before.removeValue(forKey: "lock") }?()
            let isMine = try disk.look(path) { state throws(DiskError) in
                guard state.inodes[number]?.isLocked == false else { return false }
                state.inodes[number]?.isLocked = true
                return true
            }
            if isMine { holdsLock.withLock { $0 = true } }
            return isMine
        }
    }
}
