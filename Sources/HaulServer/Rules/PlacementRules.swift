internal import HTTPTypes
internal import HaulKit

/// Rules in their order, and the folders of groups.
package struct PlacementRules: Hashable, Sendable {
    package var rules: [DownloadRule] = []
    /// Folders by name of the group, absolute or relative to the default folder.
    package var groups: [String: String] = [:]

    private static let mostRules = 200
    private static let mostGroups = 1000

    package init(rules: [DownloadRule] = [], groups: [String: String] = [:]) {
        (self.rules, self.groups) = (rules, groups)
    }

    /// Folder, group and connections that a new download gets.
    package struct Placement: Hashable, Sendable {
        /// Absolute path of the folder, with its links resolved.
        package var folder: String
        package var group: String?
        package var connections: Int?
    }

    /// Chooses the place of a new download.
    ///
    /// Ignores rules that do not match. The group comes from the request, else from the first rule with a group. The
    /// number of connections comes from the first rule with one. The folder is the first of these that exists:
    ///
    /// 1. the folder in the request;
    /// 2. the folder that ``groups`` has for the group in the request;
    /// 3. the folder of the first rule with a folder;
    /// 4. if the request has no group, the folder that ``groups`` has for the chosen group;
    /// 5. the default folder.
    ///
    /// - Parameters:
    ///   - folder: the folder that was asked for; `nil` or empty for none.
    ///   - group: the group that was asked for; `nil` for none.
    /// - Throws: ``Problem`` if the folder is not allowed.
    package func placement(
        of target: RuleTarget,
        folder: String?,
        group: String?,
        in folders: AllowedFolders
    ) throws(Problem) -> Placement {
        let matching = rules.indices.lazy.filter { rules[$0].matches(target) }
        let connections = matching.compactMap { rules[$0].connections }.first
        let own = group ?? matching.compactMap { rules[$0].group }.first
        let chosen: String
        if let folder, !folder.isEmpty {
            chosen = try folders.folder(folder)
        } else if let group, let folder = groups[group] {
            chosen = try Self.allowed(folder, Self.subject(ofGroup: group), folders)
        } else if let number = matching.first(where: { rules[$0].folder != nil }) {
            chosen = try Self.allowed(rules[number].folder ?? "", subject(ofRule: number), folders)
        } else if let own, let folder = groups[own] {
            chosen = try Self.allowed(folder, Self.subject(ofGroup: own), folders)
        } else {
            chosen = try folders.folder(nil)
        }
        return Placement(folder: chosen, group: own, connections: connections)
    }

    /// Checks that each folder of a rule or a group is allowed.
    ///
    /// - Throws: ``Problem`` that names the first rule or group whose folder is not allowed.
    package func check(_ folders: AllowedFolders) throws(Problem) {
        for (number, rule) in rules.enumerated() {
            if let folder = rule.folder { _ = try Self.allowed(folder, subject(ofRule: number), folders) }
        }
        for (name, folder) in groups.sorted(by: { $0.key < $1.key }) {
            _ = try Self.allowed(folder, Self.subject(ofGroup: name), folders)
        }
    }

    private static func allowed(_ folder: String, _ subject: String, _ folders: AllowedFolders) throws(Problem)
        -> String
    {
        do throws(Problem) { return try folders.folder(folder) } catch {
            var problem = error
            problem.detail = "The folder of \(subject) cannot be used. \(error.detail)"
            throw problem
        }
    }

    private func subject(ofRule number: Int) -> String {
        let name = rules[number].name
        return name.isEmpty ? "rule \(number + 1)" : "rule \(number + 1) (\(HostCheck.printable(name)))"
    }

    private static func subject(ofGroup name: String) -> String { "the group \(HostCheck.printable(name))" }
}

// MARK: - JSON

extension PlacementRules {
    /// Reads a list of rules.
    ///
    /// - Throws: ``Problem`` that names the first wrong rule.
    package static func rules(_ json: JSONValue) throws -> [DownloadRule] {
        guard case .array(let items) = json else { throw Problem.invalidField("rules is a list of objects.") }
        guard items.count <= mostRules else { throw Problem.invalidField("rules has more than \(mostRules) rules.") }
        return try items.enumerated().map { number, item in
            guard case .object(let fields) = item else {
                throw Problem.invalidField("rules[\(number)] must be an object.")
            }
            return try DownloadRule(fields, place: "rules[\(number)].")
        }
    }

    /// Reads the folders of groups: an object of folders by name.
    package static func groups(_ json: JSONValue) throws -> [String: String] {
        guard case .object(let fields) = json else {
            throw Problem.invalidField("groups is an object with a folder for each name of a group.")
        }
        guard fields.count <= mostGroups else {
            throw Problem.invalidField("groups has more than \(mostGroups) groups.")
        }
        var groups: [String: String] = [:]
        for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
            if let problem = JSONBody.problem(of: name, "A name in groups", upTo: 200) { throw problem }
            guard case .string(let folder) = value, !name.isEmpty, !folder.isEmpty else {
                throw Problem.invalidField(
                    "groups.\(HostCheck.printable(name)) must be a folder, and the name must not be empty."
                )
            }
            if let problem = JSONBody.problem(of: folder, "A folder in groups", upTo: 4095) { throw problem }
            groups[name] = folder
        }
        return groups
    }
}
