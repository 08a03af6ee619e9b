/// Reason why a line is invalid.
struct LineError: Error {
    var line: Int
    /// The rest of a sentence that begins with the line number, for example `has no URL`.
    var text: String
    /// Whether the error makes the rest of the list unreadable.
    var endsList = false

    init(_ line: Int, _ text: String, endsList: Bool = false) {
        (self.line, self.text, self.endsList) = (line, text, endsList)
    }
}
