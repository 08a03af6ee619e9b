internal import Foundation
internal import Logging

/// Checks the abilities of the store, and aborts uploads that no worker continues.
extension S3Destination {
    func check() async throws(FleetError) {
        do throws(S3Failure) { try await findBucket() } catch { throw error.error }
        do throws(S3Failure) { try await probe() } catch { throw error.error }
    }

    private func findBucket() async throws(S3Failure) {
        do throws(S3Failure) { try await client.headBucket() } catch {
            // Some credentials lack the right to send HEAD to the bucket and suffice nevertheless. If they do not
            // suffice, `probe()` gives a better reason.
            guard error.status == 403, ["Forbidden", "AccessDenied"].contains(error.code) else { throw error }
        }
    }

    /// Tests with an empty object the abilities that publishing needs. The store must keep metadata and must
    /// distinguish a missing object from a forbidden one. The probe also finds out whether the store refuses a taken
    /// key.
    private func probe() async throws(S3Failure) {
        let prefix = settings.prefix.isEmpty ? "" : settings.prefix + "/"
        let key = "\(prefix).haul-fleet-probe-\(UUID().uuidString)"
        let missing: S3Client.ObjectStatus?
        do throws(S3Failure) { missing = try await client.status(of: key) } catch {
            guard error.status == 403, ["Forbidden", "AccessDenied"].contains(error.code) else { throw error }
            throw S3Failure(
                FleetError(
                    .destinationRefused,
                    "\(client.endpoint.name) does not let these credentials see which keys of the bucket "
                        + "\(RelativePath.quoted(settings.bucket)) exist. Allow s3:ListBucket and s3:GetObject."
                )
            )
        }
        guard missing == nil else { throw client.broken("it says that an object exists that was never made") }
        let metadata = [(S3Client.digestField, RequestSigner.emptyHash)]
        let (refuses, kept): (Bool, S3Client.ObjectStatus?)
        do throws(S3Failure) {
            (refuses, kept) = (try await refusesTakenKey(key, metadata), try await client.status(of: key))
        } catch {
            // The object may exist although a later request failed, or its answer was lost.
            await removeProbe(key)
            throw error
        }
        await removeProbe(key)
        guard kept?.digest == RequestSigner.emptyHash else {
            throw S3Failure(
                FleetError(
                    .destinationRefused,
                    "\(client.endpoint.name) does not keep the metadata of objects, in which Haul records their digests."
                )
            )
        }
        guard !refuses else { return }
        await features.replacesTakenKeys()
        logger.warning(
            """
            \(client.endpoint.name) does not support If-None-Match. Keys are looked up before they are written, so that two programs \
            which write one key within the same moment may replace each other's object.
            """
        )
    }

    private func removeProbe(_ key: String) async {
        do throws(S3Failure) { try await client.delete(key) } catch {
            let remedy = error.status == 403 ? " Allow s3:DeleteObject." : ""
            logger.warning("The object \(key), a probe, could not be removed: \(error.error)\(remedy)")
        }
    }

    /// Creates an object twice. Returns whether the store refuses the second request.
    private func refusesTakenKey(_ key: String, _ metadata: [(String, String)]) async throws(S3Failure) -> Bool {
        do throws(S3Failure) {
            _ = try await client.put(key, .none, metadata: metadata, replaces: false)
            _ = try await client.put(key, .none, metadata: metadata, replaces: false)
            return false
        } catch {
            // The first request can find the key taken only if the client repeated the request after a lost response.
            if error.isTaken { return true }
            guard error.refusesFeature else { throw error }
            _ = try await client.put(key, .none, metadata: metadata, replaces: true)
            return false
        }
    }

    func abort(_ uploads: [OrphanUpload]) async -> [OrphanUpload] {
        await withTaskGroup(of: OrphanUpload?.self) { group in
            var (rest, gone) = (uploads[...], [OrphanUpload]())
            func start() {
                guard let upload = rest.popFirst() else { return }
                group.addTask { await isGone(upload) ? upload : nil }
            }
            for _ in 0..<max(1, settings.partsAtOnce) { start() }
            for await upload in group {
                if let upload { gone.append(upload) }
                start()
            }
            return gone
        }
    }

    /// Aborts an upload until the store no longer knows it, because a part under way may arrive after the first
    /// request.
    private func isGone(_ upload: OrphanUpload) async -> Bool {
        let id = UploadToken(upload.uploadID)?.id ?? upload.uploadID
        do throws(FleetError) {
            let key = try key(upload.path)
            for round in 1...5 {
                do throws(S3Failure) {
                    try await client.abortUpload(key, upload: id)
                    _ = try await client.parts(key, upload: id)
                } catch {
                    if error.isGone { return true }
                    throw error.error
                }
                await pause(round)
            }
        } catch {
            // No object can have such a key, so no upload can exist.
            if error.code == .invalidInput { return true }
            // The upload stays in the queue's list of orphans, so a worker tries again.
            logger.info("The upload of \(RelativePath.quoted(upload.path)) could not be aborted: \(error)")
        }
        return false
    }
}
