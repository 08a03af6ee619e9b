import ArgumentParser
import Foundation
import HaulKit

/// Header fields of requests, and the source of passwords.
struct FieldOptions: ParsableArguments {
    @Option(
        name: .long,
        help: "Send a header field, as 'Name: value'. Repeatable. Not sent to other origins."
    )
    var header: [HeaderArgument] = []

    @OptionGroup var origin: RequestOriginOptions

    var headers: [HeaderField] { header.compactMap(\.field) + (origin.refererField.map { [$0] } ?? []) }

    @Flag(help: "Read user names and passwords from $HOME/.netrc.")
    var netrc = false

    func validate() throws {
        guard header.allSatisfy({ $0.field != nil }) else {
            throw ValidationError(
                "--header takes a field as 'Name: value'. What was given is not shown, since it may hold a password."
            )
        }
        try origin.check(against: header)
    }
}

/// The values of `User-Agent` and `Referer`. `haul get` and `haul add` share these options.
struct RequestOriginOptions: ParsableArguments {
    @Option(help: "The name of the program that requests give (User-Agent), to every server.")
    var userAgent: FieldValueArgument?

    @Option(
        help:
            "URL of the page that requests say they come from. Not sent to other origins, but to those of a stream's segments."
    )
    var referer: FieldValueArgument?

    /// The `Referer` field, without user info and fragment, which RFC 9110 §10.1.3 forbids.
    var refererField: HeaderField? {
        guard let text = referer?.text else { return nil }
        guard var parts = URLComponents(string: text) else { return HeaderField("Referer", text) }
        (parts.user, parts.password, parts.fragment) = (nil, nil, nil)
        return HeaderField("Referer", parts.string ?? "")
    }

    var userAgentField: HeaderField? { userAgent.flatMap { HeaderField("User-Agent", $0.text) } }

    func check(against header: [HeaderArgument]) throws {
        let names = Set(header.compactMap { $0.field?.name.lowercased() })
        for (option, field) in [("--user-agent", userAgentField), ("--referer", refererField)] {
            guard let field, names.contains(field.name.lowercased()) else { continue }
            throw ValidationError("\(option) and --header both name the field \(field.name).")
        }
    }
}

/// Text of an option that is valid as the value of a header field.
struct FieldValueArgument: ExpressibleByArgument {
    let text: String

    init?(argument: String) {
        guard HeaderField("X", argument) != nil else { return nil }
        text = argument
    }
}
