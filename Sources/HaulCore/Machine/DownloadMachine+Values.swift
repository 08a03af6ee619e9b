/// Values that the machine owns. Each changes only by its own methods.
extension DownloadMachine {
    /// Decisions about the bytes on the disk for the next attempt, and the number of bytes when the current attempt
    /// began.
    struct Joining: Sendable, Equatable {
        /// Whether the bytes came from another URL than the current one.
        private(set) var isFromReplacedSource: Bool
        /// Whether the next request has no condition.
        private(set) var asksPlain = false
        /// Whether nothing is joined to the bytes. They stay on the disk until a new answer replaces them.
        private(set) var dropsBytes = false
        /// Whether an answer or a comparison has contradicted the version of the bytes. The next answer is then not
        /// judged by the length of that version.
        private(set) var expectsOtherVersion = false
        /// Whether the server has sent parts that cannot be used.
        private(set) var rangesAreBroken = false
        /// Whether the last inspection of the disk found all bytes, and no answer has been accepted since.
        private(set) var foundAll = false
        /// Number of bytes when the current attempt began.
        private(set) var countAtOpen: Int64 = 0
        /// Number of bytes that the current attempt must exceed before the next one may follow without a wait. An
        /// attempt from byte 0 must bring more bytes than any earlier attempt has brought of this version.
        private(set) var countToExceed: Int64 = 0

        init(isFromReplacedSource: Bool) { self.isFromReplacedSource = isFromReplacedSource }

        mutating func noteRequest(at count: Int64) { (countAtOpen, countToExceed) = (count, count) }

        /// Notes that the file has been prepared for the body of a good answer.
        mutating func noteAnswer(at count: Int64, mustExceed least: Int64) {
            (countAtOpen, countToExceed) = (count, least)
            (isFromReplacedSource, asksPlain, dropsBytes, foundAll) = (false, false, false, false)
            expectsOtherVersion = false
        }

        mutating func noteReplacedSource() { isFromReplacedSource = true }
        mutating func askPlain() { asksPlain = true }
        mutating func dropBytes() { dropsBytes = true }

        mutating func expectOtherVersion() {
            dropBytes()
            expectsOtherVersion = true
        }

        mutating func noteFound(all: Bool) { foundAll = all }
        mutating func noteBrokenRanges() { rangesAreBroken = true }

        /// Notes that the link leads to another place, whose server may send usable parts.
        mutating func noteOtherPlace() { rangesAreBroken = false }
    }

    /// The wait before the next attempt. Each wait has a number, so that the timer of an earlier one is recognized.
    struct RestTimer: Sendable, Equatable {
        private var number = 0
        /// Whether the file was closed for the wait. The disk is then inspected again after the wait.
        private(set) var recovers = false

        var timer: TimerID { TimerID(number: number) }

        /// Starts another wait.
        ///
        /// - Returns: its timer.
        mutating func startNext() -> TimerID {
            number += 1
            return timer
        }

        mutating func noteClosedFile() { recovers = true }
        mutating func noteRecovery() { recovers = false }
    }
}
