/// All functions of the schema, in the order in which they are made.
enum SchemaFunctions {
    static let all = claiming + reporting + workers + maintenance + loading + administration + settings
}
