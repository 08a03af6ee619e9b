package import ArgumentParser
package import HaulKit

/// Options that select the files and the revision of a set.
package struct SetSelectionOptions: ParsableArguments {
    @Option(help: "Take only names that match, in gitignore's form: '*.safetensors', 'weights/**'. Repeatable.")
    package var select: [String] = []

    @Option(help: "Leave out names that match, in the same form. Repeatable.")
    package var except: [String] = []

    @Option(help: "Branch, tag or commit of an hf:// source.")
    package var revision: String?

    @Option(help: "How many folders deep an index is read. Default: 5, and status 2 if there are deeper ones.")
    package var maxDepth: Int?

    package init() {}

    package func validate() throws {
        if let maxDepth, !(0...1000).contains(maxDepth) {
            throw ValidationError("--max-depth takes a number from 0 to 1000.")
        }
        for pattern in select + except {
            do throws(PathPattern.Unusable) { _ = try PathPattern(pattern) } catch {
                throw ValidationError(error.sentence)
            }
        }
    }

    /// Whether any option differs from its default.
    package var isUsed: Bool { !select.isEmpty || !except.isEmpty || revision != nil || maxDepth != nil }

    package var settings: SetOptions {
        var settings = SetOptions()
        (settings.select, settings.except) = (select, except)
        return settings
    }
}
