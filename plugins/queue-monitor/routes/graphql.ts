import { defineRoute, type Route } from 'zin'
import type { GraphqlEngine } from '../graphql/engine.js'
import { graphqlBody } from '../schema/reads.js'
import type { MonitorReads } from '../service.js'
import type { ScopeOf } from './reads.js'

/** `POST /graphql`. The GraphQL packages are loaded with the first request. */
export function graphqlRoutes(monitor: MonitorReads, production: boolean, scopeOf: ScopeOf): readonly Route[] {
  let engine: Promise<GraphqlEngine> | undefined
  return [
    defineRoute({
      method: 'POST',
      path: '/graphql',
      summary: 'GraphQL queries: queueStats, queue, jobs and job',
      description: 'At most 1000 tokens, depth 5, 15 aliases and a cost of 300, roughly the number of jobs read.',
      tag: 'queue monitor',
      use: ['monitor'],
      body: graphqlBody,
      bodyLimit: 64 * 1024,
      handler: async (ctx) => {
        const scope = scopeOf(ctx)
        const { operationName, query, variables } = ctx.input.body
        engine ??= import('../graphql/engine.js').then((made) => new made.GraphqlEngine(monitor, production))
        const reply = await (await engine).run({ query, variables: variables ?? {}, operationName: operationName ?? undefined }, scope)
        ctx.status = reply.status
        ctx.set('Content-Type', 'application/json; charset=utf-8')
        ctx.body = reply.text
      },
    }),
  ]
}
