/** One thing of an export, as JSON: a row, a key, a job. Values are what JSON can hold. */
export interface DataRecord {
  /** What it belongs to: a table, a queue. `data:import --without <plugin>/<of>` leaves all of it out. */
  readonly of: string
  readonly [field: string]: unknown
}

/** The data of a plugin in its store, opened by `zin data:export` or `data:import`, while no app runs. */
export interface DataStore {
  /** The kind of store, for people: `Redis`, `SQLite`. */
  readonly where: string
  /** Facts about the store that `checker` compares, as JSON: they are in the first line of the file. Default: none. */
  readonly facts?: unknown
  /** How many records it has that count; 0 if and only if it is empty. */
  size(): Promise<number>
  /** Whether a record is one of those that `size` counts, such as a row, rather than what belongs to others. Default: each is. */
  counts?(record: DataRecord): boolean
  /** Yields every record, in the order in which `write` needs them. Returns what a person should know, one sentence each. */
  read(): AsyncGenerator<DataRecord, readonly string[], undefined>
  /**
   * Begins a check. The returned function is called for every record before anything is written, and throws an error whose message says why it
   * cannot be written: `has no key`.
   *
   * @param facts those of the file.
   */
  checker(facts: unknown): (record: DataRecord) => void
  /** Writes records that have been checked to the empty store: at most 500 at a time, in the order of the file. */
  write(records: readonly DataRecord[]): Promise<void>
  /** Called after the last record. Returns what a person should know, one sentence each. */
  finish?(): Promise<readonly string[]>
  /** Removes everything that `read` yields. */
  clear(): Promise<void>
  /**
   * Notes in a store on a server that an import is under way, or that none is: until then, what it has may be deleted. A plugin should not start
   * with such a store: `throw dataErrors.DATA_INCOMPLETE(where)`. For a store in the data directory, the core does both.
   */
  mark?(importing: boolean): Promise<void>
  /** Whether `mark` notes that an import is under way. */
  marked?(): Promise<boolean>
}

/** What a plugin moves with `zin data:export` and `data:import` besides the tables of its migrations, which are moved as they are. */
export interface DataPart {
  /** Tables that this part moves itself, or whose rows do not belong into an export, such as leases. */
  readonly tables?: readonly string[]
  /** Which processes of the app run, such as `3 processes are connected to Redis`; undefined if none does, or if it cannot be told. */
  users?(): Promise<string | undefined>
  /**
   * Called after the plugin has started. Default: nothing besides tables.
   *
   * @param covered the `tables` of all parts.
   */
  readonly open?: (covered: ReadonlySet<string>) => DataStore | Promise<DataStore>
}
