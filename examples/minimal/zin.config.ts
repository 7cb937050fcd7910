import { defineConfig, defineRoute } from 'zin'

const hello = defineRoute({
  method: 'GET',
  path: '/hello/:name',
  summary: 'Greet a person by name',
  params: { type: 'object', properties: { name: { type: 'string', maxLength: 50 } } },
  response: { 200: { type: 'object', properties: { hello: { type: 'string' } } } },
  handler: ({ input }) => ({ hello: input.params.name }),
})

export default defineConfig({ routes: [hello] })
