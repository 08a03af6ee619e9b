import HaulAria2
import HaulKit
import HaulServer

/// Texts that `aria2c` prints about itself.
enum Aria2Usage {
    /// The version of aria2 whose command line and protocol Haul implements. Scripts look for this version.
    static let version = "1.37.0"

    static let versionText = """
        aria2 version \(version)
        Haul \(Downloader.version) in place of aria2.

        ** Configuration **
        Enabled Features: Async DNS, Firefox3 Cookie, HTTPS, Message Digest, Metalink, XML-RPC
        Hash Algorithms: sha-1, sha-256, sha-512, md5
        """

    static let line = """
        Usage: aria2c [OPTIONS] [URI]...
        See 'aria2c -h'.
        """

    /// Returns the help for options.
    ///
    /// - Parameter word: a tag of aria2 such as `#http`, for which all options are listed, or a part of the name of an
    ///   option.
    static func help(_ word: String) -> String {
        let options = word.hasPrefix("#") ? Aria2Option.all : Aria2Option.all.filter { $0.name.contains(word) }
        let head = "Usage: aria2c [OPTIONS] [URI]...\nOptions of aria2 \(version), and what Haul makes of them:\n"
        return head + options.map(text).joined(separator: "\n")
    }

    static func text(_ option: Aria2Option) -> String {
        let short = option.short.map { "-\($0), " } ?? ""
        let effect =
            switch option.effect {
            case .applied(let text): text
            case .ignored(let reason): "ignored: \(reason)"
            }
        let standard = option.standard.map { "\n      Default: \($0)" } ?? ""
        return " \(short)--\(option.name)\(value(option))\n      \(effect)\(standard)"
    }

    private static func value(_ option: Aria2Option) -> String {
        switch option.kind {
        case .flag: "[=true|false]"
        case .coefficients: "[=true|false|A:B]"
        case .integer, .decimal: "=N"
        case .bytes: "=SIZE"
        case .choice(let choices): "=" + choices.joined(separator: "|")
        case .proxy: "=PROXY"
        case .digest: "=TYPE=DIGEST"
        case .gid: "=GID"
        case .numbers: "=N,..."
        case .indexedPaths: "=INDEX=PATH"
        case .text, .list: "=VALUE"
        }
    }
}
