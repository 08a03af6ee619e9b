internal import HaulKit
internal import Logging

/// The endings of downloads, and what the machine of the worker learns of them.
extension ItemDownloads {
    /// Tells the machine of the worker how the download of an item has ended.
    func ended(_ lease: LeasedItem, _ download: Download, _ outcome: DownloadOutcome) async {
        guard items[lease.key.item]?.lease.key == lease.key else { return }
        switch outcome {
        case .completed(let file): await completed(lease, file)
        case .failed(let error) where error.code == .diskFull:
            if await doesNotFit(download.snapshot, lease) {
                leftovers.markEndless(lease.key.item)
                end(lease.key, .failed(error.failure, isRetryable: true, retryAfter: nil))
            } else {
                noteTrouble(error)
                end(lease.key, error.ending(retryAfter: nil))
            }
        case .failed(let error):
            if let validator = lease.validator, SourceCondition.isUnchanged(error) {
                return unchanged(lease, validator, error, received: download.snapshot.receivedBytes)
            }
            noteTrouble(error)
            end(lease.key, error.ending(retryAfter: pacer.blockedTime(of: lease.url)))
        // This type never cancels the download of a held item. If another caller does, the item goes back to the queue.
        case .cancelled: end(lease.key, .notTried(pausesClaims: false))
        }
    }

    /// Ends an item that the server answered with 304. If the download has received bytes of another version, the item
    /// begins anew: a 304 names the version of the server only in the answer to the first request.
    private func unchanged(_ lease: LeasedItem, _ validator: String, _ error: DownloadError, received: Int64) {
        if received == 0 { return end(lease.key, .unchanged(validator: validator)) }
        leftovers.markEndless(lease.key.item)
        end(lease.key, .failed(error.failure, isRetryable: true, retryAfter: nil))
    }

    /// Logs trouble of this machine as a warning; other errors are not logged.
    func noteTrouble(_ error: DownloadError) {
        guard warnings.isDue(error.code) else { return }
        logger.warning("\(error.message) Items go back until this is mended.")
    }

    /// Whether the item is to blame for a full disk: its missing bytes exceed the free space, although at least
    /// ``leastFree`` is free, or it has no known length and may never end. Such an item loses an attempt and its bytes
    /// are removed. Other items go back to the queue.
    private func doesNotFit(_ snapshot: DownloadSnapshot, _ lease: LeasedItem) async -> Bool {
        guard let total = snapshot.totalBytes ?? lease.size else { return true }
        do throws(DownloadError) {
            guard let free = try await downloader.files.freeDiskSpace(at: stagingFolder) else { return false }
            return free >= Self.leastFree && total - snapshot.receivedBytes > free
        } catch { return false }
    }

    /// Minimum free space in bytes. A disk with less counts as full for every item.
    private static let leastFree: Int64 = 64 << 20

    private func completed(_ lease: LeasedItem, _ file: CompletedDownload) async {
        if let digest = proven(lease, file) { return staged(lease, file, digest) }
        guard file.bytes <= Self.smallFile else {
            do throws(DownloadError) {
                staged(lease, file, try await DownloadRequest.Checksum.of(.sha256, file: file.path).digest)
            } catch { end(lease.key, error.ending(retryAfter: nil)) }
            return
        }
        guard unhashed.append(lease, file) else { return }
        while let group = unhashed.nextGroup() {
            let digests = await BlockingExecutor.system.run {
                group.map { SmallFileDigest.of($0.file.path, $0.file.bytes) }
            }
            for ((lease, file), digest) in zip(group, digests) {
                switch digest {
                case .success(let digest): staged(lease, file, digest)
                case .failure: end(lease.key, .notTried(pausesClaims: true))
                }
            }
        }
    }

    /// Maximum size in bytes of the files that are hashed in groups.
    private static let smallFile: Int64 = 256 << 10

    private func staged(_ lease: LeasedItem, _ file: CompletedDownload, _ digest: [UInt8]) {
        items[lease.key.item]?.stagedPath = file.path
        let staged = StagedFile(
            key: lease.key,
            stagedPath: file.path,
            path: lease.path,
            bytes: file.bytes,
            sha256: digest,
            uploadID: lease.uploadID,
            url: lease.url,
            metadata: lease.metadata,
            validator: SourceCondition.validator(of: file, lease)
        )
        end(lease.key, .staged(staged))
    }

    /// Returns the SHA-256 that was computed while the file came, or that of the list if the downloader has verified the
    /// file with it; otherwise `nil`.
    private func proven(_ lease: LeasedItem, _ file: CompletedDownload) -> [UInt8]? {
        if let digest = file.digest, digest.algorithm == .sha256 { return digest.digest }
        guard file.proof == .digest, let text = lease.checksum else { return nil }
        do throws(DownloadError) {
            let checksum = try DownloadRequest.Checksum(text)
            return checksum.algorithm == .sha256 ? checksum.digest : nil
        } catch { return nil }
    }

    func end(_ key: LeaseKey, _ ending: DownloadEnding) { events.yield(.downloadEnded(key, ending)) }
}
