import type { PackageUses, SettingValues } from 'zin'
import { standIn, standInUse } from 'zin/plugins/sqlite'
import type { DatabaseOptions } from './options.js'
import type { databaseSettings } from './settings.js'

type Settings = SettingValues<typeof databaseSettings>

export const databasePackages: PackageUses<DatabaseOptions, Settings> = {
  mysql2: {
    when: 'a connection is to MySQL or MariaDB: DB_CONNECTION is rdb',
    needed: ({ options, settings }) => (settings.DB_CONNECTION === 'rdb' && !settings.USE_RDB_PROXY) || hasConnection(options, 'rdb'),
  },
  [standIn]: standInUse(({ options, settings }) => settings.DB_CONNECTION === '' || hasConnection(options, 'sqlite')),
}

function hasConnection({ connections }: DatabaseOptions, wanted: 'rdb' | 'sqlite'): boolean {
  return Object.values(connections).some(({ driver }) => driver === wanted)
}
