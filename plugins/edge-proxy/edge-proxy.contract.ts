import { after, describe } from 'node:test'
import { describeConstraints } from './constraints.contract.js'
import { describeQueries } from './queries.contract.js'
import { describeRefusals } from './refusals.contract.js'
import { describeRegistryMode } from './registry.contract.js'
import { describeConfig, describeKeys, describeRates } from './settings.contract.js'
import type { Proxies } from './testing/proxies.js'
import { sqlMode } from './testing/sql-mode.js'
import { describeValues } from './values.contract.js'
import { describeWrites } from './writes.contract.js'

/** Contract of the edge proxy in every runtime, over real sockets. */
export function describeEdgeProxy(runtime: string, proxies: Proxies): void {
  describe(`the edge proxy in ${runtime}`, () => {
    after(() => proxies.stop())
    describe('in sql mode', () => {
      const mode = sqlMode(proxies)
      describeQueries(mode)
      describeRefusals(mode)
      describeWrites(mode)
      describeConstraints(mode)
      describeValues(() => mode.client)
    })
    describeRegistryMode(proxies)
    describeRates(proxies)
    describeKeys(proxies)
    describeConfig(proxies)
  })
}
