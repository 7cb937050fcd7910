import { defineRoute, type Route } from 'zin'
import type { NodeView, Workers } from '../contract.js'
import { nodeAnswer, nodeParams, nodesAnswer } from '../schema/nodes.js'
import { tag, use } from './shared.js'

/** The nodes of the app. */
export function nodeRoutes(workers: Workers): readonly Route[] {
  const drainAt = (method: 'POST' | 'DELETE', draining: boolean, summary: string): Route =>
    defineRoute({
      method,
      path: '/api/nodes/:id/drain',
      summary,
      tag,
      use,
      params: nodeParams,
      response: { 200: nodeAnswer },
      handler: async ({ input }) => {
        const node = await workers.drain(input.params.id, draining)
        return { ok: true, message: messageOf(node), node }
      },
    })

  return [
    defineRoute({
      method: 'GET',
      path: '/api/nodes',
      summary: 'List the nodes of the app, including recently lost ones',
      tag,
      use,
      response: { 200: nodesAnswer },
      handler: async () => ({ ok: true, nodes: await workers.nodes() }),
    }),
    drainAt('POST', true, 'Let a node finish its running jobs and take no new ones, until that is undone or its process ends'),
    drainAt('DELETE', false, 'Let a node that drains take jobs again'),
  ]
}

function messageOf({ busy, draining, id }: NodeView): string {
  if (!draining) return `Node "${id}" takes jobs`
  return `Node "${id}" takes no new jobs; ${busy === 0 ? 'none runs there' : `${busy} still ${busy === 1 ? 'runs' : 'run'} there`}`
}
