/// A function of the schema: what workers call, so that their role needs no right to a table.
struct SchemaFunction: Sendable {
    enum Caller: Sendable { case worker, loader, administrator, internals }

    var name: String
    /// Names with types, without the parentheses.
    var parameters: String
    var result: String
    var caller: Caller
    /// Whether it has the rights of the schema's owner; otherwise those of its caller.
    var runsAsOwner = true
    /// Variables and the body in PL/pgSQL.
    var body: String

    /// Types of the parameters, as GRANT and DROP name a function by.
    var signature: String {
        let types = parameters.split(separator: ",").map { parameter in
            parameter.trimmingPrefix(while: \.isWhitespace).split(separator: " ").dropFirst().joined(separator: " ")
        }
        return "\(name)(\(types.joined(separator: ", ")))"
    }

    /// The statement that makes it.
    ///
    /// Its settings fix the plan: tables that are empty now and hold a hundred thousand rows a second later are read through
    /// their indices, whatever the statistics say.
    func definition(in queue: QueueName) -> String {
        """
        CREATE FUNCTION \(name)(\(parameters)) RETURNS \(result) LANGUAGE plpgsql \(runsAsOwner ? "SECURITY DEFINER" : "")
        SET search_path = \(queue.quoted), pg_catalog, pg_temp
        SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off
        SET jit = off SET plan_cache_mode = force_generic_plan SET work_mem = '64MB'
        AS $haul$
        #variable_conflict use_column
        \(body)
        $haul$
        """
    }
}
