import ArgumentParser
import HaulKit

/// Header fields of requests, and the source of passwords.
struct FieldOptions: ParsableArguments {
    @Option(
        name: .long,
        help: "Send a header field, as 'Name: value'. Repeatable. Not sent to other origins."
    )
    var header: [HeaderArgument] = []
    var headers: [HeaderField] { header.compactMap(\.field) }

    @Flag(help: "Read user names and passwords from $HOME/.netrc.")
    var netrc = false

    func validate() throws {
        guard header.allSatisfy({ $0.field != nil }) else {
            throw ValidationError(
                "--header takes a field as 'Name: value'. What was given is not shown, since it may hold a password."
            )
        }
    }
}
