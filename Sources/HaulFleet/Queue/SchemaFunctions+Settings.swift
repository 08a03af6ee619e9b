extension SchemaFunctions {
    static let settings = [destination, destinationMark]

    /// Where files go: all that a worker, which may see no table, needs of the settings before it registers.
    private static let destination = SchemaFunction(
        name: "destination",
        parameters: "",
        result: "text",
        caller: .worker,
        body: "BEGIN RETURN (SELECT destination FROM setting); END"
    )

    /// The mark of the destination; takes `p_new` where there is none yet. Null asks only.
    private static let destinationMark = SchemaFunction(
        name: "destination_mark",
        parameters: "p_new text",
        result: "text",
        caller: .worker,
        body: """
            BEGIN
                UPDATE setting SET destination_mark = p_new
                    WHERE destination_mark IS NULL AND p_new ~ '^[0-9a-z]{1,32}$';
                RETURN (SELECT destination_mark FROM setting);
            END
            """
    )
}
