import ArgumentParser
import HaulServer

/// A setting of `haul serve`. The configuration file calls it ``name``, the command line ``option``. The variable of
/// the environment is `HAUL_` and the name in capitals (`HAUL_LISTEN`).
struct ServeSetting: Sendable {
    /// A value that the option or the file gives, before it is checked.
    enum Value: Sendable, Equatable {
        case text(String)
        case list([String])
    }

    typealias Default = @Sendable (_ before: ServeSettings) -> String
    typealias Apply<Given> = @Sendable (Given, inout ServeSettings) throws -> Void

    /// The type of the values, and the closure that checks a value and applies it.
    enum Kind: Sendable {
        /// One text. The default may depend on the settings that are read before this one.
        case text(standard: Default, apply: Apply<String>)
        /// A text for each use of the option; none by default.
        case list(apply: Apply<[String]>)
        /// A list or an object of JSON; none by default. The option and the environment contain the JSON as text.
        case json(apply: Apply<JSONValue>)
    }

    /// The effect of a new value that SIGHUP makes the daemon read.
    enum Change: Sendable {
        /// The value applies at once.
        case live
        /// The value applies after a new start; the daemon logs a warning. `isSame` compares the values of two
        /// readings.
        case afterRestart(isSame: @Sendable (ServeSettings, ServeSettings) -> Bool)
        /// Only for the state folder, which identifies a daemon. A running daemon ignores a new value.
        case never

        static func restart<Compared: Equatable & Sendable>(
            _ compared: @escaping @Sendable (ServeSettings) -> Compared
        ) -> Change {
            .afterRestart(isSame: { compared($0) == compared($1) })
        }
    }

    let name: String
    /// Long name of the option.
    let option: String
    /// Whether `--print-config` hides the value.
    let isSecret: Bool
    let kind: Kind
    let change: Change
    let help: String
    /// Returns the value of the option; `nil` if the command line does not have the option.
    let given: @Sendable (ServeOptions) -> Value?

    static func named(_ name: String) -> ServeSetting? { all.first { $0.name == name } }

    var argumentHelp: ArgumentHelp { ArgumentHelp(stringLiteral: help) }

    /// Whether the value differs between two readings and applies only after a new start.
    func needsRestart(_ old: ServeSettings, _ new: ServeSettings) -> Bool {
        if case .afterRestart(let isSame) = change { !isSame(old, new) } else { false }
    }

    var appliesAfterRestart: Bool {
        if case .afterRestart = change { true } else { false }
    }
}

// MARK: - Declarations

extension ServeSetting {
    static func text(
        _ name: String,
        option: String? = nil,
        secret: Bool = false,
        standard: @escaping Default,
        change: Change,
        _ help: String,
        _ given: @escaping @Sendable (ServeOptions) -> String?,
        apply: @escaping Apply<String>
    ) -> ServeSetting {
        .init(
            name: name,
            option: option ?? name,
            isSecret: secret,
            kind: .text(standard: standard, apply: apply),
            change: change,
            help: help,
            given: { options in given(options).map { Value.text($0) } }
        )
    }

    static func json(
        _ name: String,
        change: Change,
        _ help: String,
        _ given: @escaping @Sendable (ServeOptions) -> String?,
        apply: @escaping Apply<JSONValue>
    ) -> ServeSetting {
        .init(
            name: name,
            option: name,
            isSecret: false,
            kind: .json(apply: apply),
            change: change,
            help: help,
            given: { options in given(options).map { Value.text($0) } }
        )
    }

    static func list(
        _ name: String,
        secret: Bool = false,
        change: Change,
        _ help: String,
        _ given: @escaping @Sendable (ServeOptions) -> [String],
        apply: @escaping Apply<[String]>
    ) -> ServeSetting {
        .init(
            name: name,
            option: name,
            isSecret: secret,
            kind: .list(apply: apply),
            change: change,
            help: help,
            given: { options in
                let list = given(options)
                return list.isEmpty ? nil : Value.list(list)
            }
        )
    }
}
