import { after, before, describe } from 'node:test'
import { codesContract } from './codes.contract.js'
import { concurrentContract } from './concurrent.contract.js'
import { routesContract } from './routes.contract.js'
import { schedulesContract } from './schedules.contract.js'
import { statesContract } from './states.contract.js'
import { type ApiHost, type Backend, startApi } from './testing/api-host.js'

/** The worker API: every route, every error code and every state transition of a worker, over HTTP on one app. */
export function apiContract(title: string, backend: Backend): void {
  describe(`the worker API on ${title}`, () => {
    let api: ApiHost
    before(async () => {
      api = await startApi(backend)
    })
    after(() => api.stop())
    routesContract(() => api)
    codesContract(() => api)
    concurrentContract(() => api)
    schedulesContract(() => api)
    statesContract(() => api, backend)
  })
}
