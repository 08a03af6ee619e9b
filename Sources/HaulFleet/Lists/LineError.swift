/// Why a line is no item: the end of a sentence that begins with its number.
struct LineError: Error {
    var line: Int
    /// For example ``has no URL``.
    var text: String
    /// The whole list cannot be read because of it.
    var endsList = false

    init(_ line: Int, _ text: String, endsList: Bool = false) {
        (self.line, self.text, self.endsList) = (line, text, endsList)
    }
}
