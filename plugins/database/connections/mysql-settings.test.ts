import assert from 'node:assert/strict'
import { it } from 'node:test'
import { isSetBy, sessionSettings } from './mysql-settings.js'

const versions: Readonly<Record<string, readonly NonNullable<(typeof sessionSettings)[number]['of']>[]>> = {
  '10.4.34-MariaDB-log': ['MariaDB'],
  '5.5.5-10.6.12-MariaDB-1:10.6.12': ['MariaDB', 'MariaDB 10.6'],
  '10.9.8-MariaDB': ['MariaDB', 'MariaDB 10.6'],
  '10.10.2-MariaDB': ['MariaDB', 'MariaDB 10.6', 'MariaDB 10.10'],
  '11.8.3-MariaDB-ubu2404': ['MariaDB', 'MariaDB 10.6', 'MariaDB 10.10'],
  '5.7.44-log': [],
  '8.0.36': ['MySQL 8'],
  '9.7.4-2': ['MySQL 8'],
  '8.0.30 (ProxySQL)': ['MySQL 8'],
}

for (const [version, kinds] of Object.entries(versions))
  it(`a connection verifies what ${version} lets it set, and no more`, () => {
    assert.deepEqual(
      sessionSettings.filter((setting) => isSetBy(setting, version)),
      sessionSettings.filter(({ of }) => of === undefined || kinds.includes(of)),
    )
  })
