internal import HaulKit
internal import HaulServer

/// Performs the methods of the protocol. ``Aria2Calls`` has checked and removed the token.
extension Aria2Session {
    package func call(_ method: String, _ parameters: [Aria2Value]) async throws(Aria2Error) -> Aria2Value {
        guard let known = Aria2Method(rawValue: method) else {
            throw Aria2Error(.unknown, "No such method: \(HostCheck.printable(method))")
        }
        let parameters = Aria2Parameters(parameters)
        switch known {
        case .addUri: return try await addURI(parameters)
        case .addMetalink: return try await addMetalink(parameters)
        case .remove, .forceRemove: return try await remove(parameters)
        case .pause, .forcePause: return try await pause(parameters)
        case .unpause: return try await unpause(parameters)
        case .pauseAll, .forcePauseAll: return try await pauseAll()
        case .unpauseAll: return try await unpauseAll()
        case .changePosition: return try await changePosition(parameters)
        case .tellStatus: return try await tellStatus(parameters)
        case .tellActive: return try await tellActive(parameters)
        case .tellWaiting: return try await tellWaiting(parameters)
        case .tellStopped: return try await tellStopped(parameters)
        case .getUris: return try await getURIs(parameters)
        case .getFiles: return try await getFiles(parameters)
        case .getPeers: return try await getPeers(parameters)
        case .getServers: return try await getServers(parameters)
        case .getOption: return try await getOption(parameters)
        case .changeOption: return try await changeOption(parameters)
        case .changeUri: return try await changeURI(parameters)
        case .getGlobalOption: return await getGlobalOption()
        case .changeGlobalOption: return try await changeGlobalOption(parameters)
        case .purgeDownloadResult: return try await purgeDownloadResult()
        case .removeDownloadResult: return try await removeDownloadResult(parameters)
        case .getVersion: return Self.version
        case .getSessionInfo: return ["sessionId": .text(identifier)]
        case .getGlobalStat: return try await getGlobalStat()
        case .saveSession: return try await saveSession()
        case .shutdown, .forceShutdown:
            shutDown(isForced: known == .forceShutdown)
            return "OK"
        }
    }

    /// Requests the shut-down after a delay, so that the client gets its answer before the connection closes.
    private func shutDown(isForced: Bool) {
        let onShutdown = configuration.onShutdown
        Task {
            // Nothing cancels this task.
            do { try await Task.sleep(for: isForced ? .milliseconds(200) : .seconds(1)) } catch { return }
            onShutdown(isForced)
        }
    }

    /// The answer to `aria2.getVersion`: the version of aria2 that Haul follows, because clients compare versions, and
    /// those features of aria2 that Haul has too.
    private static let version: Aria2Value = [
        "version": "1.37.0", "haul": .text(Downloader.version),
        "enabledFeatures": ["Async DNS", "Firefox3 Cookie", "HTTPS", "Message Digest", "Metalink", "XML-RPC"],
    ]
}
