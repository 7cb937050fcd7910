import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ApiHost } from './testing/api-host.js'
import { type ApiRow, apiRows, notHereYet, streamRoute } from './testing/api-rows.js'
import { shapeOf } from './testing/shape.js'

/** Every route of the worker API: its input, status and response fields, and its response for unknown workers. */
export function routesContract(api: () => ApiHost): void {
  describe('its routes', () => {
    const known = new Map<string, string>()
    const nameOf = (row: ApiRow): string => `${row.worker ?? 'first'}-${api().run}`
    const pathOf = (row: ApiRow, name = nameOf(row)): string => {
      const [, template = ''] = row.route.split(' ')
      const path = template.replaceAll(/:(\w+)/g, (_, param: string) => {
        if (param === 'name') return name
        const value = row.params?.[param] ?? ''
        return encodeURIComponent(value.startsWith(':') ? (known.get(value.slice(1)) ?? '') : value)
      })
      return row.query === undefined ? path : `${path}?${row.query}`
    }
    const bodyOf = (row: ApiRow): object | undefined => {
      const name = nameOf(row)
      if (/^POST \/api\/workers(\/create)?$/.test(row.route)) return { ...row.body, name, queueName: name }
      return row.body !== undefined && 'children' in row.body ? { children: [{ worker: decodeURIComponent(name) }] } : row.body
    }
    const ask = (row: ApiRow) => api().call(row.route.split(' ')[0] ?? '', pathOf(row), bodyOf(row))

    it('are exactly the routes of the table', () => {
      const routes = api()
        .host.host.view.routes()
        .filter(({ plugin }) => plugin === 'workers' || plugin === 'worker-health')
        .map(({ method, path }) => `${method} ${path}`)
      assert.deepEqual([...new Set([streamRoute, ...apiRows.map(({ route }) => route)])].sort(), routes.toSorted())
      assert.deepEqual(
        routes.filter((route) => notHereYet.includes(route)),
        [],
      )
    })

    /** The gate was called before the request changed anything, and the listeners afterwards. */
    const heard = (row: ApiRow, headers: Readonly<Record<string, unknown>>): void => {
      const expected = { action: row.action, worker: nameOf(row), actor: { kind: 'local', id: 'local', via: 'http' } }
      for (const [phase, changes] of Object.entries(api().changesOf(String(headers['x-request-id'])))) {
        assert.deepEqual(
          changes.map(({ action, worker, actor }) => ({ action, worker, actor })),
          [expected],
          `${phase} ${row.route}`,
        )
      }
    }

    for (const row of apiRows) {
      it(`${row.route}${row.query === undefined ? '' : `?${row.query}`} responds with ${row.status}`, async () => {
        const { fills } = row
        const answer =
          fills === undefined
            ? await ask(row)
            : await api().until(pathOf(row), (body) => fills.reduce((value, key) => value[key], body).length > 0)
        assert.equal(answer.status, row.status, answer.text)
        assert.deepEqual(shapeOf(answer.body), row.shape)
        assert.equal(answer.body.ok, true)
        if (row.action !== undefined) heard(row, answer.headers)
        else assert.ok(row.route.startsWith('GET') || row.route.includes('/api/nodes/'), row.route)
        if (row.gives !== undefined) {
          const [param, ...path] = row.gives
          known.set(
            param,
            path.reduce((value, key) => value[key], answer.body),
          )
        }
      })
    }

    it('respond with 404 for an unknown worker, and 400 for an invalid name, on every route of one worker', async () => {
      for (const row of apiRows.filter(({ route }) => route.includes(':name'))) {
        for (const [name, status, code] of [
          [`nobody-${api().run}`, 404, 'WORKER_NOT_FOUND'],
          ['no', 400, 'INVALID_WORKER_NAME'],
          ['%C3%A9t%C3%A9', 400, 'INVALID_WORKER_NAME'],
          ['%00%00%00', 400, 'INVALID_WORKER_NAME'],
        ] as const) {
          const body = row.body !== undefined && 'children' in row.body ? { children: [{ worker: decodeURIComponent(name) }] } : row.body
          const answer = await api().call(row.route.split(' ')[0] ?? '', pathOf(row, name), body)
          assert.deepEqual([answer.status, answer.body.code], [status, code], `${row.route}: ${answer.text}`)
          const { details: _, ...error } = answer.body
          assert.deepEqual(shapeOf(error), { error: 'string', message: 'string', code: 'string' })
        }
      }
    })

    it('list the required fields of a worker and a version in the OpenAPI document', () => {
      interface Operation {
        readonly requestBody: { readonly required: boolean; readonly content: Record<string, { schema: { required: string[] } }> }
      }
      const { paths } = api().host.host.http.openapi() as { paths: Record<string, Record<string, Operation>> }
      for (const [path, fields] of [
        ['/api/workers', ['name', 'queueName']],
        ['/api/workers/create', ['name', 'queueName']],
        ['/api/workers/{name}/versions', ['version']],
      ] as const) {
        const body = paths[path]?.post?.requestBody
        assert.deepEqual([body?.required, body?.content['application/json']?.schema.required], [true, fields], path)
      }
    })

    it('return every time as ISO 8601', async () => {
      const [node] = (await api().call('GET', '/api/nodes')).body.nodes
      for (const time of [node.startedAt, node.leaseUntil]) assert.equal(new Date(time).toISOString(), time)
    })

    it('return responses that match their schemas', () => {
      assert.deepEqual(
        api().host.logs.filter(({ msg }) => /its schema/.test(String(msg))),
        [],
      )
    })
  })
}
