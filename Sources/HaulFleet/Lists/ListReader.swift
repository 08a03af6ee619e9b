/// The items of a list, read from a descriptor piece by piece: at most a record and a read of the list are in memory.
///
/// One iteration reads it once. A line that is no item ends the reading with ``FleetError/Code/invalidInput`` and a sentence that
/// names the line, or is counted in ``invalidLines`` and skipped.
package struct ListReader: AsyncSequence, Sendable {
    package typealias Element = NewItem
    package typealias Failure = FleetError

    /// Bytes of a line, or of a record with quoted line ends, at most.
    package static let longestRecord = 1 << 20

    /// What was skipped so far.
    package let invalidLines: InvalidLines?
    let descriptor: Int32
    let format: ListFormat
    let name: String

    /// - Parameters:
    ///   - descriptor: open for reading, a pipe or a terminal too; the caller closes it, after the last use of the iterator.
    ///   - name: what messages call the list.
    ///   - skipsInvalid: whether lines that are no items are skipped.
    package init(descriptor: Int32, format: ListFormat, name: String, skipsInvalid: Bool = false) {
        (self.descriptor, self.format, self.name) = (descriptor, format, name)
        invalidLines = skipsInvalid ? InvalidLines() : nil
    }

    package func makeAsyncIterator() -> Iterator {
        Iterator(
            source: ListSource(descriptor: descriptor, name: name),
            parser: ListParser(format: format, name: name, invalidLines: invalidLines)
        )
    }

    package struct Iterator: AsyncIteratorProtocol {
        private let source: ListSource
        private var parser: ListParser
        private var hasEnded = false

        init(source: ListSource, parser: ListParser) {
            self.source = source
            self.parser = parser
        }

        package mutating func next() async throws(FleetError) -> NewItem? { try await next(isolation: nil) }

        package mutating func next(isolation actor: isolated (any Actor)?) async throws(FleetError) -> NewItem? {
            while !hasEnded {
                do throws(FleetError) {
                    if let item = try parser.next() { return item }
                    guard !parser.isComplete else { break }
                    if let bytes = try await source.read() { parser.append(bytes) } else { parser.finish() }
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
