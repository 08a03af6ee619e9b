/// The supported methods of aria2. A BitTorrent method gets aria2's answer to an unknown method. `getPeers` is
/// supported, because clients call it for every download, and aria2 answers it for HTTP downloads too.
enum Aria2Method: String, CaseIterable {
    case addUri = "aria2.addUri"
    case addMetalink = "aria2.addMetalink"
    case remove = "aria2.remove"
    case pause = "aria2.pause"
    case forcePause = "aria2.forcePause"
    case pauseAll = "aria2.pauseAll"
    case forcePauseAll = "aria2.forcePauseAll"
    case unpause = "aria2.unpause"
    case unpauseAll = "aria2.unpauseAll"
    case forceRemove = "aria2.forceRemove"
    case changePosition = "aria2.changePosition"
    case tellStatus = "aria2.tellStatus"
    case getUris = "aria2.getUris"
    case getFiles = "aria2.getFiles"
    case getPeers = "aria2.getPeers"
    case getServers = "aria2.getServers"
    case tellActive = "aria2.tellActive"
    case tellWaiting = "aria2.tellWaiting"
    case tellStopped = "aria2.tellStopped"
    case getOption = "aria2.getOption"
    case changeUri = "aria2.changeUri"
    case changeOption = "aria2.changeOption"
    case getGlobalOption = "aria2.getGlobalOption"
    case changeGlobalOption = "aria2.changeGlobalOption"
    case purgeDownloadResult = "aria2.purgeDownloadResult"
    case removeDownloadResult = "aria2.removeDownloadResult"
    case getVersion = "aria2.getVersion"
    case getSessionInfo = "aria2.getSessionInfo"
    case shutdown = "aria2.shutdown"
    case forceShutdown = "aria2.forceShutdown"
    case getGlobalStat = "aria2.getGlobalStat"
    case saveSession = "aria2.saveSession"
}

/// The parameters of a call. Each parameter is checked when it is read.
struct Aria2Parameters {
    private let values: [Aria2Value]

    init(_ values: [Aria2Value]) { self.values = values }

    private func value(_ index: Int) -> Aria2Value? { values.indices.contains(index) ? values[index] : nil }

    private func required(_ index: Int) throws(Aria2Error) -> Aria2Value {
        guard let value = value(index) else {
            throw Aria2Error(.unknown, "The parameter at \(index) is required but missing.")
        }
        return value
    }

    private static func wrongType(_ index: Int) -> Aria2Error {
        Aria2Error(.unknown, "The parameter at \(index) has wrong type.")
    }

    func text(_ index: Int) throws(Aria2Error) -> String {
        guard case .text(let text) = try required(index) else { throw Self.wrongType(index) }
        return text
    }

    func integer(_ index: Int) throws(Aria2Error) -> Int {
        guard case .integer(let number) = try required(index) else { throw Self.wrongType(index) }
        return Int(clamping: number)
    }

    /// Returns a number of at least 0.
    func count(_ index: Int) throws(Aria2Error) -> Int {
        let count = try integer(index)
        guard count >= 0 else {
            throw Aria2Error(
                .unknown,
                "The integer parameter at \(index) has invalid value: the value must be greater than or equal to 0."
            )
        }
        return count
    }

    /// Returns a position in the queue; `nil` if the parameter is missing.
    func position(_ index: Int) throws(Aria2Error) -> Int? {
        guard value(index) != nil else { return nil }
        let position = try integer(index)
        guard position >= 0 else { throw Aria2Error(.unknown, "Position must be greater than or equal to 0.") }
        return position
    }

    /// Returns a list of texts. Ignores other elements, as aria2 does.
    func texts(_ index: Int) throws(Aria2Error) -> [String] {
        guard case .list(let items) = try required(index) else { throw Self.wrongType(index) }
        return items.compactMap { if case .text(let text) = $0 { text } else { nil } }
    }

    /// Returns the members that the client requests; an empty set for all members.
    func keys(_ index: Int) throws(Aria2Error) -> Set<String> {
        value(index) == nil ? [] : Set(try texts(index))
    }

    /// Returns the options that the caller sets. Ignores unknown names and options that the method does not accept,
    /// without reading their values; so does aria2.
    func options(_ index: Int, _ isTaken: (Aria2Option) -> Bool) throws(Aria2Error) -> Aria2Options {
        var options = Aria2Options()
        guard let value = value(index) else { return options }
        guard case .structure(let members) = value else { throw Self.wrongType(index) }
        for (name, value) in members {
            guard let option = Aria2Option.named(name), isTaken(option) else { continue }
            do throws(Aria2OptionError) {
                if option.isList {
                    try options.set(name, Self.list(value))
                } else if let text = value.text(for: option) {
                    try options.set(name, text)
                }
            } catch { throw Aria2Error(error) }
        }
        return options
    }

    /// Returns the options; throws if the parameter is missing.
    func requiredOptions(_ index: Int, _ isTaken: (Aria2Option) -> Bool) throws(Aria2Error) -> Aria2Options {
        _ = try required(index)
        return try options(index, isTaken)
    }

    /// Returns the values of a repeatable option: a list, or lines of one text, as `aria2.getOption` returns them.
    private static func list(_ value: Aria2Value) -> [String] {
        guard case .list(let items) = value else {
            return (value.optionText ?? "").split(separator: "\n").map(String.init)
        }
        return items.compactMap(\.optionText)
    }
}
