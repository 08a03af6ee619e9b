internal import Foundation

// The mirrors of types that hold credentials or a downloader. Those of values are in HaulCore.

extension ProxySettings.Proxy: CustomDebugStringConvertible, CustomReflectable {
    /// The same text as ``description``.
    public var debugDescription: String { description }
    /// Kind, host and port; credentials are `***`.
    public var customMirror: Mirror {
        Mirror(masked: self, ["kind": kind, "host": host, "port": port, "credentials": credentials.map { _ in "***" }])
    }
}

extension Netrc: CustomReflectable {
    /// An empty mirror, because every entry is a secret.
    public var customMirror: Mirror { Mirror(hidden: self) }
}

extension Downloader.Hook: CustomReflectable {
    /// The ``description`` and the events. Arguments of a command are left out, because they may be secrets.
    public var customMirror: Mirror { Mirror(masked: self, ["hook": description, "events": events]) }
}

// MARK: Handles, which hold all of a downloader

extension Downloader: CustomReflectable {
    /// An empty mirror: nothing that the downloader holds is shown.
    public nonisolated var customMirror: Mirror { Mirror(self, children: [:], displayStyle: .class) }
}

extension Download: CustomReflectable {
    /// The id and the present snapshot, with a masked URL.
    public var customMirror: Mirror { Mirror(masked: self, ["id": id, "snapshot": snapshot]) }
}

extension DownloadGroup: CustomReflectable {
    /// The name.
    public var customMirror: Mirror { Mirror(masked: self, ["name": name]) }
}
