import { defineConfig, defineRoute, Type } from 'zin'
import { health } from 'zin/plugins'

const user = defineRoute({
  method: 'GET',
  path: '/users/:name',
  summary: 'A user',
  params: Type.Object({ name: Type.String({ pattern: '^[a-z]{1,20}$' }) }),
  response: { 200: Type.Object({ name: Type.String(), traceId: Type.String() }) },
  handler: ({ input, request }) => ({
    name: `${input.params.name.charAt(0).toUpperCase()}${input.params.name.slice(1)}`,
    traceId: String(request.headers['x-trace-id'] ?? ''),
  }),
})

export default defineConfig({ plugins: [health()], routes: [user] })
