/**
 * A step of a plugin's schema. The core only stores it; the plugin `database` runs it and defines `Db`.
 * Ids sort by name within their plugin: `0001_create_users`.
 */
// biome-ignore lint/suspicious/noExplicitAny: the database plugin's handle
export interface Migration<Db = any> {
  /** `0001_create_users`: a number, then what it does. Unique within the plugin. */
  readonly id: string
  /** Applies the change. */
  up(db: Db): Promise<void>
  /** Reverts it, for `zin migrate --rollback`. */
  down(db: Db): Promise<void>
}
