/// The titles of the groups in the help texts. Groups with the same title become one section.
enum OptionTitle {
    static let sources = "URLs and lists"
    static let files = "Files"
    static let sets = "Sets"
    static let streams = "Streams"
    static let speed = "Speed"
    static let network = "Network"
    static let credentials = "Header fields, credentials and cookies"
    static let disk = "Disk and state"
    static let hooks = "Hooks"
}
