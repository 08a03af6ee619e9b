/// One option of aria2 as Haul treats it.
package struct Aria2Option: Sendable {
    /// What values the option takes.
    package enum Kind: Sendable, Equatable {
        case text
        /// `true` or `false`; empty is `true`.
        case flag
        case integer(ClosedRange<Int64>)
        /// Bytes, with `K` or `M` for powers of 1024.
        case bytes(ClosedRange<Int64>)
        /// A number with a fraction, of at least 0. It stays as it was written.
        case decimal
        case choice([String])
        /// A value of each use of the option; empty ones count as well.
        case list
        /// `INDEX=PATH`, of each use of the option.
        case indexedPaths
        /// Numbers and ranges of numbers: `1-5,8`.
        case numbers(ClosedRange<Int64>)
        /// `[http://][USER:PASSWORD@]HOST[:PORT]`; empty takes away what was set before.
        case proxy
        /// `TYPE=DIGEST`.
        case digest([String])
        case gid
        /// `true`, `false` or `A:B`.
        case coefficients
    }

    /// Where aria2 takes the option.
    package enum Scope: Sendable, Equatable {
        /// For the whole process.
        case global
        /// For one download; on the command line for all of them, but no default of downloads that are added later.
        case download
        /// For one download, and a global value is the default of downloads.
        case both
    }

    /// What `aria2.changeOption` does with a download that is active.
    package enum Change: Sendable, Equatable {
        /// It applies at once.
        case live
        /// The download starts again with it.
        case restart
        /// The option is fixed when the download is added.
        case never
    }

    package enum Effect: Sendable, Equatable {
        /// What the option sets, in the words of Haul.
        case applied(String)
        /// Read and reported as aria2 does, without effect, and why.
        case ignored(String)
    }

    package let name: String
    package let short: Character?
    package let kind: Kind
    /// aria2's default, where it is the same for every process.
    package let standard: String?
    package fileprivate(set) var scope: Scope
    package let change: Change
    /// Whether `aria2.changeGlobalOption` takes it.
    package fileprivate(set) var changesGlobally: Bool
    /// Whether `aria2.getOption` and `aria2.getGlobalOption` leave it out.
    package let isSecret: Bool
    package let effect: Effect

    package static func named(_ name: String) -> Aria2Option? { byName[name] }

    package static func named(_ short: Character) -> Aria2Option? { byShortName[short] }

    /// Every option of aria2 1.37, in the order of its own help.
    package static let all: [Aria2Option] = general + http + proxies + remote + hooks + other

    private static let byName = Dictionary(all.map { ($0.name, $0) }) { first, _ in first }

    private static let byShortName = Dictionary(all.compactMap { option in option.short.map { ($0, option) } }) {
        first,
        _ in
        first
    }

    /// Whether the value may be left away on the command line.
    package var takesOptionalValue: Bool {
        switch kind {
        case .flag, .coefficients: true
        default: false
        }
    }

    package var isList: Bool { kind == .list || kind == .indexedPaths }
}

// MARK: - Declarations

extension Aria2Option {
    static func global(
        _ name: String,
        short: Character? = nil,
        _ kind: Kind,
        standard: String? = nil,
        changes: Bool = false,
        secret: Bool = false,
        _ effect: Effect
    ) -> Aria2Option {
        .init(
            name: name,
            short: short,
            kind: kind,
            standard: standard,
            scope: .global,
            change: .never,
            changesGlobally: changes,
            isSecret: secret,
            effect: effect
        )
    }

    static func download(
        _ name: String,
        short: Character? = nil,
        _ kind: Kind,
        standard: String? = nil,
        change: Change = .restart,
        _ effect: Effect
    ) -> Aria2Option {
        .init(
            name: name,
            short: short,
            kind: kind,
            standard: standard,
            scope: .download,
            change: change,
            changesGlobally: false,
            isSecret: false,
            effect: effect
        )
    }

    static func both(
        _ name: String,
        short: Character? = nil,
        _ kind: Kind,
        standard: String? = nil,
        change: Change = .restart,
        _ effect: Effect
    ) -> Aria2Option {
        var option = download(name, short: short, kind, standard: standard, change: change, effect)
        (option.scope, option.changesGlobally) = (.both, true)
        return option
    }
}

extension ClosedRange<Int64> {
    /// A lower bound without an upper one.
    static func from(_ lower: Int64) -> Self { lower...Int64.max }
}
