internal import Foundation
internal import HaulKit

extension FolderDestination: ShardStore {
    func remove(_ shard: AbandonedShard) async throws(FleetError) {
        try await BlockingExecutor.system.run { [root] () throws(FleetError) in
            let staged = FilePaths.join(FilePaths.join(root, RelativePath.reserved), shard.staged)
            let path = FilePaths.join(root, shard.path)
            do throws(SystemCalls.Errno) {
                try Self.removeIfThere(staged)
                let isOfShard = try Self.isOf(shard, path)
                guard isOfShard else { return }
                try Self.removeIfThere(path)
                let folder = try SystemCalls.openFolder(root)
                defer { SystemCalls.close(folder) }
                try SystemCalls.syncAll(folder)
            } catch { throw FolderFailure.error(error, "remove", shard.path) }
        }
    }

    private static func removeIfThere(_ path: String) throws(SystemCalls.Errno) {
        do throws(SystemCalls.Errno) { try SystemCalls.remove(path) } catch {
            guard error.isMissing else { throw error }
        }
    }

    /// Whether the file has exactly the bytes of the shard, and so is no file of another program.
    private static func isOf(_ shard: AbandonedShard, _ path: String) throws(SystemCalls.Errno) -> Bool {
        do throws(SystemCalls.Errno) {
            let descriptor = try SystemCalls.openFile(path)
            defer { SystemCalls.close(descriptor) }
            guard try SystemCalls.entry(descriptor).size == shard.bytes else { return false }
            return try FileHash.sha256(descriptor).digest == shard.sha256
        } catch {
            guard error.isMissing else { throw error }
            return false
        }
    }
}

extension SystemCalls.Errno {
    fileprivate var isMissing: Bool { code == ENOENT }
}

extension S3Destination: ShardStore {
    func remove(_ shard: AbandonedShard) async throws(FleetError) {
        let key = try key(shard.path)
        do throws(S3Failure) {
            for upload in try await client.uploads(of: key) { try await client.abortUpload(key, upload: upload.id) }
            guard let object = try await client.status(of: key), object.digest == shard.sha256.hexadecimal else {
                return
            }
            try await client.delete(key)
        } catch { throw error.error }
    }
}
