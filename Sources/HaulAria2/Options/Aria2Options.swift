/// Values of options, in the form that aria2's RPC reports.
package struct Aria2Options: Sendable, Equatable, Codable {
    /// Values by the name of the option: one value for most options, any number of values for ``Aria2Option/isList``.
    package private(set) var values: [String: [String]] = [:]

    package init() {}

    /// Decodes the values that ``encode(to:)`` wrote. Ignores unknown names and invalid values.
    package init(from decoder: any Decoder) throws {
        let stored = try decoder.singleValueContainer().decode([String: [String]].self)
        for (name, list) in stored {
            guard let option = Aria2Option.named(name) else { continue }
            for value in list {
                // Leaves out an invalid value, because the store may have been edited.
                guard let value = try? option.normalized(value) else { continue }
                insert(value, of: option)
            }
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(values)
    }

    package var isEmpty: Bool { values.isEmpty }

    /// The last value of an option; `nil` if the option is not set.
    package subscript(_ name: String) -> String? { values[name]?.last }

    /// All values of an option that may be given several times.
    package func list(_ name: String) -> [String] { values[name] ?? [] }

    package func flag(_ name: String) -> Bool { self[name] == "true" }

    package func number(_ name: String) -> Int64? { self[name].flatMap { Int64($0) } }

    /// The value of a limit as a positive number; `nil` for 0, which means "no limit" in aria2.
    package func limit(_ name: String) -> Int64? { number(name).flatMap { $0 > 0 ? $0 : nil } }

    /// The value of a limit in seconds; `nil` for 0. At most 100 years, because the runtime traps on a sleep that ends
    /// more than `Int64.max` seconds after the start of the clock.
    package func seconds(_ name: String) -> Duration? {
        limit(name).map { .seconds(min($0, 100 * 365 * 86_400)) }
    }

    /// Maximum number of values of one option, so that a list of header fields has a limit.
    private static let mostValues = 1000

    /// Sets the value of an option, or adds a value to a list.
    ///
    /// - Parameter value: the value as a user writes it. It is stored in the form that aria2 reports.
    /// - Throws: ``Aria2OptionError`` for an invalid value or an unknown name.
    package mutating func set(_ name: String, _ value: String) throws(Aria2OptionError) {
        guard let option = Aria2Option.named(name) else {
            throw Aria2OptionError(option: name, detail: "unknown option")
        }
        guard list(name).count < Self.mostValues else {
            throw Aria2OptionError(option: name, detail: "\(name) is given more than \(Self.mostValues) times")
        }
        insert(try option.normalized(value), of: option)
    }

    /// Replaces all values of an option.
    package mutating func set(_ name: String, _ list: [String]) throws(Aria2OptionError) {
        var new = Aria2Options()
        for value in list { try new.set(name, value) }
        values[name] = new.values[name]
    }

    private mutating func insert(_ value: String, of option: Aria2Option) {
        if option.isList, !value.isEmpty {
            values[option.name, default: []].append(value)
        } else {
            // An empty value removes the earlier values of a list.
            values[option.name] = [value]
        }
        if option.isList, values[option.name]?.first == "", values[option.name]?.count ?? 0 > 1 {
            values[option.name]?.removeFirst()
        }
    }

    package mutating func remove(_ name: String) { values[name] = nil }

    /// Adds the values of `other`, which take precedence.
    package mutating func merge(_ other: Aria2Options) { values.merge(other.values) { $1 } }

    /// Returns these values; missing ones come from the global values, then from aria2's defaults.
    package func over(_ global: Aria2Options) -> Aria2Options {
        var result = Aria2Options.downloadDefaults
        for (name, list) in global.values where Aria2Option.named(name)?.scope == .both { result.values[name] = list }
        result.values.merge(values) { $1 }
        return result
    }

    /// The values without options that belong only to the process.
    package var ofDownloads: Aria2Options {
        filtered { $0.scope != .global }
    }

    package func filtered(_ isKept: (Aria2Option) -> Bool) -> Aria2Options {
        var result = Aria2Options()
        result.values = values.filter { Aria2Option.named($0.key).map(isKept) ?? false }
        return result
    }

    /// aria2's defaults of the options that belong both to a download and to the process.
    package static let downloadDefaults = defaults.filtered { $0.scope == .both }

    /// aria2's defaults of all options that have a default, and Haul's own `user-agent`.
    package static let defaults: Aria2Options = {
        var result = Aria2Options()
        for option in Aria2Option.all { if let standard = option.standard { result.values[option.name] = [standard] } }
        result.values["user-agent"] = [Aria2Request.userAgent]
        return result
    }()

    /// Names and values as `aria2.getOption` and `aria2.getGlobalOption` return them, without secrets. The values of a
    /// list are lines of one text.
    package var shown: [String: String] {
        var result: [String: String] = [:]
        for (name, list) in values {
            guard let option = Aria2Option.named(name), !option.isSecret, option.kind != .gid, name != "pause",
                name != "load-cookies"
            else { continue }
            result[name] = option.isList ? list.map { $0 + "\n" }.joined() : list.last ?? ""
        }
        return result
    }
}
