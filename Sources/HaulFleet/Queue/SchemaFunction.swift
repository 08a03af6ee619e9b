/// A function of the schema. Workers call functions, so their role needs no rights on tables.
struct SchemaFunction: Sendable {
    enum Caller: Sendable { case worker, loader, administrator, internals }

    var name: String
    /// Parameter names with types, without the parentheses.
    var parameters: String
    var result: String
    var caller: Caller
    /// Whether the function runs with the rights of the schema's owner. Otherwise it has those of its caller.
    var runsAsOwner = true
    /// Variables and the body in PL/pgSQL.
    var body: String

    /// The name with the parameter types, as GRANT and DROP expect it.
    var signature: String {
        let types = parameters.split(separator: ",").map { parameter in
            parameter.trimmingPrefix(while: \.isWhitespace).split(separator: " ").dropFirst().joined(separator: " ")
        }
        return "\(name)(\(types.joined(separator: ", ")))"
    }

    /// Returns the CREATE statement of the function.
    ///
    /// The settings force the same plan for every call. A table that is empty now may hold 100,000 rows a second later,
    /// so it is read through its indexes whatever the statistics say.
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
