/**
 * A migration of a plugin's schema. The core only stores it; the plugin `database` runs it and defines `Db`.
 * Migrations of a plugin run in the order of their ids: `0001_create_users`.
 */
// biome-ignore lint/suspicious/noExplicitAny: the database plugin's handle
export interface Migration<Db = any> {
  /** A number, then what it does: `0001_create_users`. Unique within the plugin. */
  readonly id: string
  /** Applies the change. */
  up(db: Db): Promise<void>
  /** Reverts it, for `zin migrate --rollback`. */
  down(db: Db): Promise<void>
}
