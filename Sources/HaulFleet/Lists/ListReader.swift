/// Reads the items of a list from a descriptor. Memory holds at most one record and one read of the list.
///
/// The list can be iterated only once. An invalid line ends the iteration with ``FleetError/Code/invalidInput``; the
/// message names the line. With `skipsInvalid`, the reader counts invalid lines in ``invalidLines`` and skips them,
/// unless an error makes the rest of the list unreadable.
package struct ListReader: AsyncSequence, Sendable {
    package typealias Element = NewItem
    package typealias Failure = FleetError

    /// Maximum length in bytes of a line, or of a record with quoted line ends.
    package static let longestRecord = 1 << 20

    /// The lines skipped so far; `nil` if invalid lines end the iteration.
    package let invalidLines: InvalidLines?
    let descriptor: Int32
    let format: ListFormat
    let name: String
    private let rule: PathRule
    private let checkEnd: @Sendable () throws(FleetError) -> Void

    /// - Parameters:
    ///   - descriptor: open for reading; may be a pipe or a terminal. The caller closes it after the last use of the
    ///     iterator.
    ///   - name: the name of the list in messages.
    ///   - rule: which paths can be names at the destination. Lines with other paths are invalid.
    ///   - skipsInvalid: whether the reader skips invalid lines.
    ///   - checkEnd: throws if the descriptor ends before the list. Its last line is no item then.
    package init(
        descriptor: Int32,
        format: ListFormat,
        name: String,
        rule: PathRule = .any,
        skipsInvalid: Bool = false,
        checkEnd: @escaping @Sendable () throws(FleetError) -> Void = {}
    ) {
        self.checkEnd = checkEnd
        (self.descriptor, self.format, self.name, self.rule) = (descriptor, format, name, rule)
        invalidLines = skipsInvalid ? InvalidLines() : nil
    }

    package func makeAsyncIterator() -> Iterator {
        Iterator(
            source: ListSource(descriptor: descriptor, name: name),
            parser: ListParser(format: format, name: name, invalidLines: invalidLines, rule: rule),
            checkEnd: checkEnd
        )
    }

    package struct Iterator: AsyncIteratorProtocol {
        private let source: ListSource
        private var parser: ListParser
        private let checkEnd: @Sendable () throws(FleetError) -> Void
        private var hasEnded = false

        fileprivate init(
            source: ListSource,
            parser: ListParser,
            checkEnd: @escaping @Sendable () throws(FleetError) -> Void
        ) {
            (self.source, self.parser, self.checkEnd) = (source, parser, checkEnd)
        }

        package mutating func next() async throws(FleetError) -> NewItem? { try await next(isolation: nil) }

        package mutating func next(isolation actor: isolated (any Actor)?) async throws(FleetError) -> NewItem? {
            while !hasEnded {
                do throws(FleetError) {
                    if let item = try parser.next() { return item }
                    guard !parser.isComplete else { break }
                    if let bytes = try await source.read() {
                        parser.append(bytes)
                    } else {
                        try checkEnd()
                        parser.finish()
                    }
                } catch {
                    hasEnded = true
                    throw error
                }
            }
            hasEnded = true
            return nil
        }
    }
}
