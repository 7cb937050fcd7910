// A middleware: routes refer to it by its key, OpenAPI describes the credentials it requires, and handlers can read the state it sets.
import { definePlugin, refuse } from 'zin'

interface Tenant {
  readonly id: string
}

// Types `ctx.state.tenant` in the handlers of routes with `use: ['tenant']`.
declare module 'zin' {
  interface MiddlewareState {
    tenant: { tenant: Tenant }
  }
}

const tenantsByKey: ReadonlyMap<string, Tenant> = new Map([['key-of-acme', { id: 'acme' }]])

export const tenants = definePlugin({
  name: 'tenants',
  version: '1.0.0',
  setup({ middleware, route }) {
    middleware({
      key: 'tenant',
      security: [{ tenantKey: { type: 'apiKey', in: 'header', name: 'x-tenant-key' } }],
      state: ['tenant'],
      handler: (request, next) => {
        const tenant = tenantsByKey.get(request.get('x-tenant-key'))
        if (tenant === undefined) return refuse(request, 'tenant', 'Tenant')
        request.state.tenant = tenant
        return next()
      },
    })
    route({
      method: 'GET',
      path: '/tenant',
      summary: 'Show the tenant of the key',
      use: ['tenant'],
      handler: ({ state }) => ({ tenant: state.tenant.id }),
    })
  },
})
