import ArgumentParser

/// A number of bytes: `500k`, `2M`, `1G`, or a plain number. Each unit is 1,024 times the previous one.
struct ByteCount: ExpressibleByArgument {
    let bytes: Int64

    init?(argument: String) {
        let units: [Character: Int64] = [
            "k": 1 << 10, "K": 1 << 10, "m": 1 << 20, "M": 1 << 20, "g": 1 << 30, "G": 1 << 30,
        ]
        let unit = argument.last.flatMap { units[$0] }
        let digits = unit == nil ? argument : String(argument.dropLast())
        guard let number = Int64(digits), number > 0 else { return nil }
        let (bytes, isTooMuch) = number.multipliedReportingOverflow(by: unit ?? 1)
        guard !isTooMuch else { return nil }
        self.bytes = bytes
    }
}
