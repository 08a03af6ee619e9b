extension SchemaFunctions {
    static let settings = [destination, destinationMark]

    /// Returns the destination, the only setting that a worker needs before it registers. Workers may read no table.
    private static let destination = SchemaFunction(
        name: "destination",
        parameters: "",
        result: "text",
        caller: .worker,
        body: "BEGIN RETURN (SELECT destination FROM setting); END"
    )

    /// Returns the mark of the destination. If there is none yet, stores `p_new` first, unless `p_new` is null.
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
