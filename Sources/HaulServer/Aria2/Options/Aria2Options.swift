/// Values of options, as aria2's RPC shows them.
package struct Aria2Options: Sendable, Equatable, Codable {
    /// By the option's name; of most options one value, of ``Aria2Option/isList`` as many as were given.
    package private(set) var values: [String: [String]] = [:]

    /// No values.
    package init() {}

    /// Takes over what ``encode(to:)`` wrote. Names that are unknown now, and values that are no longer taken, are left
    /// out.
    package init(from decoder: any Decoder) throws {
        let stored = try decoder.singleValueContainer().decode([String: [String]].self)
        for (name, list) in stored {
            guard let option = Aria2Option.named(name) else { continue }
            for value in list {
                // The store may have been edited.
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

    /// The last value.
    package subscript(_ name: String) -> String? { values[name]?.last }

    /// All values of an option that may be given several times.
    package func list(_ name: String) -> [String] { values[name] ?? [] }

    package func flag(_ name: String) -> Bool { self[name] == "true" }

    package func number(_ name: String) -> Int64? { self[name].flatMap { Int64($0) } }

    /// The same as a positive number of seconds, bytes or things; nil for 0, which is aria2's "no limit".
    package func limit(_ name: String) -> Int64? { number(name).flatMap { $0 > 0 ? $0 : nil } }

    /// Most values of one option: a list of header fields is not without end.
    private static let mostValues = 1000

    /// Sets the value of an option, or adds one to a list.
    ///
    /// - Parameter value: as a person writes it; it is kept as aria2 reports it.
    /// - Throws: ``Aria2OptionError`` for an unknown name too.
    package mutating func set(_ name: String, _ value: String) throws(Aria2OptionError) {
        guard let option = Aria2Option.named(name) else {
            throw Aria2OptionError(option: name, detail: "unknown option")
        }
        guard list(name).count < Self.mostValues else {
            throw Aria2OptionError(option: name, detail: "\(name) is given more than \(Self.mostValues) times")
        }
        insert(try option.normalized(value), of: option)
    }

    /// Sets all values of an option, in place of those that it has.
    package mutating func set(_ name: String, _ list: [String]) throws(Aria2OptionError) {
        var new = Aria2Options()
        for value in list { try new.set(name, value) }
        values[name] = new.values[name]
    }

    private mutating func insert(_ value: String, of option: Aria2Option) {
        if option.isList, !value.isEmpty {
            values[option.name, default: []].append(value)
        } else {
            // An empty value takes away what a list has.
            values[option.name] = [value]
        }
        if option.isList, values[option.name]?.first == "", values[option.name]?.count ?? 0 > 1 {
            values[option.name]?.removeFirst()
        }
    }

    package mutating func remove(_ name: String) { values[name] = nil }

    /// Takes over another's values; where both have one, the other's.
    package mutating func merge(_ other: Aria2Options) { values.merge(other.values) { $1 } }

    /// With the global values and aria2's defaults where there is no value of this download's own.
    package func over(_ global: Aria2Options) -> Aria2Options {
        var result = Aria2Options.downloadDefaults
        for (name, list) in global.values where Aria2Option.named(name)?.scope == .both { result.values[name] = list }
        result.values.merge(values) { $1 }
        return result
    }

    /// Only what a download may have.
    package var ofDownloads: Aria2Options {
        filtered { $0.scope != .global }
    }

    package func filtered(_ isKept: (Aria2Option) -> Bool) -> Aria2Options {
        var result = Aria2Options()
        result.values = values.filter { Aria2Option.named($0.key).map(isKept) ?? false }
        return result
    }

    /// aria2's defaults of options that downloads have.
    package static let downloadDefaults = defaults.filtered { $0.scope == .both }

    /// aria2's defaults of all options that have one.
    package static let defaults: Aria2Options = {
        var result = Aria2Options()
        for option in Aria2Option.all { if let standard = option.standard { result.values[option.name] = [standard] } }
        result.values["user-agent"] = [Aria2Request.userAgent]
        return result
    }()

    /// Names and values as `aria2.getOption` and `aria2.getGlobalOption` answer them: of a list one text of lines.
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
