extension SchemaFunctions {
    static let settings = [destination]

    /// Where files go: all that a worker, which may see no table, needs of the settings before it registers.
    private static let destination = SchemaFunction(
        name: "destination",
        parameters: "",
        result: "text",
        caller: .worker,
        body: "BEGIN RETURN (SELECT destination FROM setting); END"
    )
}
