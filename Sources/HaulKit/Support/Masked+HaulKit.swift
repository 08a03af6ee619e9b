internal import Foundation

// The mirrors of types that hold credentials or a downloader. The mirrors of HaulCore's types are in its
// `Masked.swift`.

extension ProxySettings.Proxy: Masked {
    /// Kind, host and port; credentials are `***`.
    package var maskedMirror: Mirror {
        Mirror(masked: self, ["kind": kind, "host": host, "port": port, "credentials": credentials.map { _ in "***" }])
    }
}

extension Netrc: Masked {
    /// An empty mirror, because every entry is a secret.
    package var maskedMirror: Mirror { Mirror(hidden: self) }
}

extension Downloader.Hook: Masked {
    /// The ``description`` and the events. Arguments of a command are left out, because they may be secrets.
    package var maskedMirror: Mirror { Mirror(masked: self, ["hook": description, "events": events]) }
}

// MARK: Handles, which hold all of a downloader

extension Downloader: Masked {
    /// An empty mirror: nothing that the downloader holds is shown.
    package nonisolated var maskedMirror: Mirror { Mirror(self, children: [:], displayStyle: .class) }
}

extension Download: Masked {
    /// The id and the present snapshot, with a masked URL.
    package var maskedMirror: Mirror { Mirror(masked: self, ["id": id, "snapshot": snapshot]) }
}

extension DownloadGroup: Masked {
    /// The name, without the downloader.
    package var maskedMirror: Mirror { Mirror(masked: self, ["name": name]) }
}
