/// All functions of the schema, in the order of their creation.
enum SchemaFunctions {
    static let all = claiming + reporting + workers + maintenance + loading + administration + settings
}
