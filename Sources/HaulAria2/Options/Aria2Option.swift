/// An option of aria2, and how Haul treats it.
package struct Aria2Option: Sendable {
    /// The type of the option's values.
    package enum Kind: Sendable, Equatable {
        case text
        /// `true` or `false`; empty is `true`.
        case flag
        case integer(ClosedRange<Int64>)
        /// A number of bytes, with an optional `K` or `M` for powers of 1024.
        case bytes(ClosedRange<Int64>)
        /// A decimal number of at least 0, kept as written.
        case decimal
        case choice([String])
        /// One value for each use of the option; an empty value removes the earlier ones.
        case list
        /// `INDEX=PATH` for each use of the option.
        case indexedPaths
        /// Integers and ranges of integers, as `1-5,8`.
        case numbers(ClosedRange<Int64>)
        /// `[http://][USER:PASSWORD@]HOST[:PORT]`, or the URL of a SOCKS proxy; an empty value removes an earlier one.
        case proxy
        /// `TYPE=DIGEST`.
        case digest([String])
        case gid
        /// `true`, `false` or `A:B`.
        case coefficients
    }

    /// The scope in which aria2 accepts the option.
    package enum Scope: Sendable, Equatable {
        /// The whole process.
        case global
        /// One download. On the command line, the option applies to all downloads that the line names, but is no
        /// default of later downloads.
        case download
        /// One download; a global value is the default of downloads.
        case both
    }

    /// The effect of `aria2.changeOption` on an active download.
    package enum Change: Sendable, Equatable {
        /// The new value applies at once.
        case live
        /// The download restarts with the new value.
        case restart
        /// The value is fixed when the download is added.
        case never
    }

    package enum Effect: Sendable, Equatable {
        /// The option has an effect. The text names the effect in Haul's terms.
        case applied(String)
        /// The option is read and reported as in aria2, but has no effect. The text gives the reason.
        case ignored(String)
    }

    package let name: String
    package let short: Character?
    package let kind: Kind
    /// aria2's default; `nil` if aria2 has none, or if it depends on the process.
    package let standard: String?
    package fileprivate(set) var scope: Scope
    package let change: Change
    /// Whether `aria2.changeGlobalOption` accepts the option.
    package fileprivate(set) var changesGlobally: Bool
    /// Whether `aria2.getOption` and `aria2.getGlobalOption` omit the option.
    package let isSecret: Bool
    package let effect: Effect

    package static func named(_ name: String) -> Aria2Option? { byName[name] }

    package static func named(_ short: Character) -> Aria2Option? { byShortName[short] }

    /// All options of aria2 1.37, by subject.
    package static let all: [Aria2Option] = general + http + proxies + remote + hooks + other

    private static let byName = Dictionary(all.map { ($0.name, $0) }) { first, _ in first }

    private static let byShortName = Dictionary(all.compactMap { option in option.short.map { ($0, option) } }) {
        first,
        _ in
        first
    }

    /// Whether the command line may omit the value.
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
    /// Returns the range from a lower bound to the maximum.
    static func from(_ lower: Int64) -> Self { lower...Int64.max }
}
